/// \file
/// Plugins that break their contract: complete tables of which a test replaces one slot.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/precision.hpp"
#include "tests/host/data/data_support.hpp"

namespace stc::host::test {

/// What `use` throws, as `<message>` or `<message>\n<hint>`; "none" when it throws nothing of this type.
template <class E>
std::string thrown_text(const std::function<void()>& use) {
  try {
    use();
  } catch (const E& error) {
    return error.hint().empty() ? std::string(error.what()) : error.what() + ("\n" + error.hint());
  }
  return "none";
}

/// A slot that answers without an error and gives nothing.
template <class... Arguments>
stc_error* give_nothing(Arguments...) {
  return nullptr;
}

/// Any address: the tables below never look behind it.
template <class Raw>
Raw* some_instance() {
  static int place = 0;
  return reinterpret_cast<Raw*>(&place);
}

inline stc_model_api plain_model_table() {
  stc_model_api api{};
  api.struct_size = sizeof api;
  api.create = [](const stc_host*, const stc_config*, stc_model** out) -> stc_error* {
    *out = some_instance<stc_model>();
    return nullptr;
  };
  api.destroy = [](stc_model*) {};
  api.parameters = &give_nothing;
  api.forward = &give_nothing;
  return api;
}

inline stc_optimizer_api plain_optimizer_table() {
  stc_optimizer_api api{};
  api.struct_size = sizeof api;
  api.create = [](const stc_host*, const stc_config*, stc_optimizer** out) -> stc_error* {
    *out = some_instance<stc_optimizer>();
    return nullptr;
  };
  api.destroy = [](stc_optimizer*) {};
  api.bind = &give_nothing;
  api.step = &give_nothing;
  api.state_save = &give_nothing;
  api.state_load = &give_nothing;
  api.reset = [](stc_optimizer*) {};
  return api;
}

inline stc_precision_api plain_precision_table() {
  stc_precision_api api{};
  api.struct_size = sizeof api;
  api.create = [](const stc_host*, const stc_config*, stc_precision** out) -> stc_error* {
    *out = some_instance<stc_precision>();
    return nullptr;
  };
  api.destroy = [](stc_precision*) {};
  api.resolve = &give_nothing;
  api.scale = [](stc_precision*) { return 1.0; };
  api.update = [](stc_precision*, int32_t) {};
  return api;
}

/// A table as the plugin "broken", and the run around it.
template <class Adapter, class Api>
struct Broken {
  Broken(int kind, const Api& given) : api(given), plugin(table_plugin(kind, "broken", &api)) {}
  Adapter make() { return Adapter(spec_of(plugin, Value::object(), context)); }
  Api api;
  LoadedPlugin plugin;
  RunContext context;
};

struct BrokenModel : Broken<Model, stc_model_api> {
  explicit BrokenModel(const stc_model_api& given) : Broken(STC_KIND_MODEL, given) {}
};
struct BrokenOptimizer : Broken<Optimizer, stc_optimizer_api> {
  explicit BrokenOptimizer(const stc_optimizer_api& given) : Broken(STC_KIND_OPTIMIZER, given) {}
};
struct BrokenPrecision : Broken<Precision, stc_precision_api> {
  explicit BrokenPrecision(const stc_precision_api& given) : Broken(STC_KIND_PRECISION, given) {}
};

}  // namespace stc::host::test
