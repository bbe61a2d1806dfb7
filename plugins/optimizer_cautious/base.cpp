#include "base.hpp"

#include <utility>

namespace stc::cautious {
namespace {

stc_error* pass_base_error(const stc_host&) {
  try {
    throw;
  } catch (const BaseError& base) {
    return base.error;
  } catch (...) {
    return nullptr;
  }
}
const bool kTranslatorSet = (stc::detail::translator = &pass_base_error, true);

std::string base_name(const Config& section) {
  Value name;
  if (!section.find("name", name) || !name.is_string()) {
    throw Fault::config("name", "is missing, it says which optimizer is made cautious");
  }
  if (name.as_string() == "cautious") {
    throw Fault::config("name", "got cautious, which wraps another optimizer; name that one");
  }
  return std::string(name.as_string());
}

}  // namespace

Base::Base(Host host, const Config& section) {
  static_cast<void>(kTranslatorSet);
  const void* table = nullptr;
  void* instance = nullptr;
  check(host.raw().create_inner(host.ctx(), STC_KIND_OPTIMIZER, base_name(section).c_str(), section.raw(), &table,
                                &instance, &plugin_));
  api_ = stc::detail::imported(static_cast<const stc_optimizer_api*>(table));
  self_ = static_cast<stc_optimizer*>(instance);
}

Base::~Base() { api_.destroy(self_); }

bool Base::mask_itself() const {
  if (api_.get_extension == nullptr) return false;
  const auto* extension = static_cast<const stc_optimizer_cautious*>(api_.get_extension(self_, STC_OPTIMIZER_CAUTIOUS));
  if (extension == nullptr) return false;
  check(stc::detail::imported(extension).set_cautious(self_, 1));
  return true;
}

}  // namespace stc::cautious
