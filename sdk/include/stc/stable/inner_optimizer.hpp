/// \file
/// Another optimizer within one's own, found by name among the plugins: what cautious wraps, what Muon
/// hands the rest to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stc/stable/optimizer.hpp"

namespace stc::stable {

/// An error of an inner plugin on its way out, as it is: code, message and key stay. Let it pass.
struct InnerError {
  stc_error* error;
};

namespace detail {

inline stc_error* pass_inner_error(const stc_host&) {
  try {
    throw;
  } catch (const InnerError& inner) {
    return inner.error;
  } catch (...) {
    return nullptr;
  }
}
inline const bool kInnerErrorsPass = (stc::detail::translator = &pass_inner_error, true);

}  // namespace detail

/// Created, bound and destroyed with its owner. [train-thread]
class InnerOptimizer {
 public:
  /// Creates the plugin `name` from `section`, which holds the keys that it declares.
  InnerOptimizer(Host host, const std::string& name, const Config& section) {
    static_cast<void>(detail::kInnerErrorsPass);
    const void* table = nullptr;
    void* instance = nullptr;
    check(host.raw().create_inner(host.ctx(), STC_KIND_OPTIMIZER, name.c_str(), section.raw(), &table, &instance,
                                  &plugin_));
    api_ = stc::detail::imported(static_cast<const stc_optimizer_api*>(table));
    self_ = static_cast<stc_optimizer*>(instance);
  }
  ~InnerOptimizer() { api_.destroy(self_); }
  InnerOptimizer(const InnerOptimizer&) = delete;
  InnerOptimizer& operator=(const InnerOptimizer&) = delete;

  const char* name() const { return plugin_->name; }

  void bind(const std::vector<BoundParameter>& parameters, const std::vector<Group>& groups) {
    parameters_ = parameters;  // their handles are borrowed until destroy
    const std::vector<stc_bound_parameter> bound = raw_parameters(parameters_);
    std::vector<stc_group> raw_groups;
    for (const Group& group : groups) raw_groups.push_back(raw(group));
    check(api_.bind(self_, bound.data(), static_cast<uint32_t>(bound.size()), sizeof(stc_bound_parameter),
                    raw_groups.data(), static_cast<uint32_t>(raw_groups.size()), sizeof(stc_group)));
  }
  /// \param gradients in the order of bind, null = none
  void step(const Step& step, const stc_tensor* gradients, uint32_t count) {
    stc_step_info info{};
    info.struct_size = STC_SIZE_TO_END(stc_step_info, found_inf);
    info.lr = step.lr;
    info.step = step.step;
    info.grad_factor = step.grad_factor;
    info.grad_factor_t = step.grad_factor_t;
    info.found_inf = step.found_inf;
    check(api_.step(self_, &info, gradients, count));
  }
  void save(StateWriter& writer) const { check(api_.state_save(self_, writer.raw())); }
  void load(StateReader& reader) { check(api_.state_load(self_, reader.raw())); }
  void reset() { api_.reset(self_); }
  void set_mode(int32_t mode) {
    if (api_.set_mode != nullptr) api_.set_mode(self_, mode);
  }
  void set_group(uint32_t index, const Group& group) {
    if (api_.set_group == nullptr) {
      throw Fault(STC_ERROR_UNSUPPORTED, std::string("optimizer ") + name() + " has no set_group");
    }
    const stc_group item = raw(group);
    check(api_.set_group(self_, index, &item));
  }
  /// It masks in its own pass from now on (or no longer); false when it cannot.
  bool set_cautious(bool enabled) {
    const auto* found = extension<stc_optimizer_cautious>(STC_OPTIMIZER_CAUTIOUS);
    if (found == nullptr) return false;
    check(stc::detail::imported(found).set_cautious(self_, enabled ? 1 : 0));
    return true;
  }
  /// The algorithm of each parameter: its own name where it has but one.
  std::vector<const char*> route(const std::vector<BoundParameter>& parameters) const {
    std::vector<const char*> names(parameters.size(), name());
    const auto* found = extension<stc_optimizer_routing>(STC_OPTIMIZER_ROUTING);
    if (found == nullptr) return names;
    const std::vector<stc_bound_parameter> items = raw_parameters(parameters);
    check(stc::detail::imported(found).route(self_, items.data(), static_cast<uint32_t>(items.size()),
                                             sizeof(stc_bound_parameter), names.data()));
    return names;
  }

 private:
  template <class T>
  const T* extension(const char* id) const {
    return api_.get_extension == nullptr ? nullptr : static_cast<const T*>(api_.get_extension(self_, id));
  }
  static void check(stc_error* error) {
    if (error != nullptr) throw InnerError{error};
  }
  static stc_group raw(const Group& group) {
    return {STC_SIZE_TO_END(stc_group, weight_decay), 0, group.lr_scale, group.weight_decay};
  }
  static std::vector<stc_bound_parameter> raw_parameters(const std::vector<BoundParameter>& parameters) {
    std::vector<stc_bound_parameter> out;
    for (const BoundParameter& p : parameters) {
      out.push_back({STC_SIZE_TO_END(stc_bound_parameter, reserved), p.role, p.name.c_str(), p.tensor.get(), p.group, 0});
    }
    return out;
  }

  stc_optimizer_api api_{};
  stc_optimizer* self_ = nullptr;
  const stc_plugin* plugin_ = nullptr;
  std::vector<BoundParameter> parameters_;
};

}  // namespace stc::stable
