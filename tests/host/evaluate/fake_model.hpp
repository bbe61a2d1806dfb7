/// \file
/// A model and an optimizer that tests look into: C tables written by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/tensor_bridge.hpp"
#include "tests/host/data/data_support.hpp"

namespace stc::host::test {

/// What the plugins below hold and were asked for. One at a time.
struct FakeState {
  at::Tensor weight = at::tensor({1.0f, 0.1f, -3.0f});
  at::Tensor buffer = at::tensor({7.0f});
  std::vector<std::string> calls;
  /// Puts outputs for the inputs of a forward.
  std::function<void(const stc_pass_info&, const stc_tensor_list&, const stc_output_writer&)> forward;

  inline static FakeState* current = nullptr;
  FakeState() { current = this; }
  ~FakeState() { current = nullptr; }
};

inline const stc_model_api& fake_model_table() {
  static stc_named_tensor buffer{};
  static stc_parameter parameter{};
  static const stc_model_api table = [] {
    stc_model_api api{};
    api.struct_size = sizeof api;
    api.create = [](const stc_host*, const stc_config*, stc_model** out) -> stc_error* {
      *out = reinterpret_cast<stc_model*>(FakeState::current);
      return nullptr;
    };
    api.destroy = [](stc_model*) {};
    api.parameters = [](stc_model*, stc_parameter_list* out) -> stc_error* {
      parameter.struct_size = sizeof parameter;
      parameter.name = "weight";
      parameter.trainable = 1;
      parameter.tensor = borrow_handle(FakeState::current->weight);
      out->stride = sizeof parameter;
      out->items = &parameter;
      out->count = 1;
      return nullptr;
    };
    api.buffers = [](stc_model*, stc_tensor_list* out) -> stc_error* {
      buffer = {"buffer", borrow_handle(FakeState::current->buffer)};
      *out = {&buffer, 1};
      return nullptr;
    };
    api.forward = [](stc_model*, const stc_pass_info* info, const stc_tensor_list* inputs,
                     const stc_output_writer* outputs) -> stc_error* {
      FakeState::current->forward(*info, *inputs, *outputs);
      return nullptr;
    };
    api.parameters_changed = [](stc_model*) { FakeState::current->calls.push_back("changed"); };
    api.set_training = [](stc_model*, int32_t on) {
      FakeState::current->calls.push_back(on != 0 ? "training" : "looking");
    };
    return api;
  }();
  return table;
}

/// Its modes move the weight there and back, with rounding on the way.
inline const stc_optimizer_api& fake_optimizer_table(bool with_modes) {
  const auto make = [](bool modes) {
    stc_optimizer_api api{};
    api.struct_size = sizeof api;
    api.create = [](const stc_host*, const stc_config*, stc_optimizer** out) -> stc_error* {
      *out = reinterpret_cast<stc_optimizer*>(FakeState::current);
      return nullptr;
    };
    api.destroy = [](stc_optimizer*) {};
    if (modes) {
      api.set_mode = [](stc_optimizer*, int32_t mode) {
        FakeState& state = *FakeState::current;
        state.calls.push_back(mode == STC_MODE_EVAL ? "eval" : "train");
        state.weight.add_(mode == STC_MODE_EVAL ? 1000.1 : -1000.1);
      };
    }
    return api;
  };
  static const stc_optimizer_api with = make(true);
  static const stc_optimizer_api without = make(false);
  return with_modes ? with : without;
}

/// Both, created.
struct Fake {
  explicit Fake(bool with_modes = false)
      : model_plugin(table_plugin(STC_KIND_MODEL, "fake", &fake_model_table())),
        optimizer_plugin(table_plugin(STC_KIND_OPTIMIZER, "fake", &fake_optimizer_table(with_modes))),
        model(spec_of(model_plugin, Value::object(), context)),
        optimizer(spec_of(optimizer_plugin, Value::object(), context)) {}
  FakeState state;
  RunContext context;
  LoadedPlugin model_plugin;
  LoadedPlugin optimizer_plugin;
  Model model;
  Optimizer optimizer;
};

}  // namespace stc::host::test
