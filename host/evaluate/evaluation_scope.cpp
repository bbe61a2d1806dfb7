#include "host/evaluate/evaluation_scope.hpp"

#include <utility>

#include <ATen/ops/clone.h>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {

EvaluationScope::EvaluationScope(Model& model, Optimizer& optimizer, const at::Device& device)
    : generators_(device), model_(model), optimizer_(optimizer) {
  for (const NamedHandle& buffer : model_.buffers()) keep(to_tensor(buffer.tensor));
  if (optimizer_.has_modes()) {
    for (const ModelParameter& parameter : model_.parameters()) {
      if (parameter.trainable) keep(to_tensor(parameter.tensor));
    }
    optimizer_.set_mode(STC_MODE_EVAL);
    model_.parameters_changed();
  }
  model_.set_training(false);
}

EvaluationScope::~EvaluationScope() {
  try {
    leave();
  } catch (const PluginError&) {  // the training that follows meets the plugin again
  }
}

void EvaluationScope::leave() {
  if (!std::exchange(inside_, false)) return;
  model_.set_training(true);
  if (optimizer_.has_modes()) optimizer_.set_mode(STC_MODE_TRAIN);
  for (const Kept& kept : kept_) kept.live.copy_(kept.copy);
  if (!kept_.empty()) model_.parameters_changed();
}

}  // namespace stc::host
