#include "host/train/gradient_pass.hpp"

#include <memory>

#include "host/errors/error.hpp"
#include "host/train/autocast.hpp"
#include "host/train/loss.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

std::vector<std::pair<std::string, at::Tensor>> auxiliary_of(const ModelOutputs& outputs) {
  std::vector<std::pair<std::string, at::Tensor>> scalars;
  for (const auto& [name, handle] : outputs.items) {
    if (name == "loss" || name == "logits") continue;
    const at::Tensor& value = to_tensor(handle.get());
    if (value.numel() != 1 || !at::isFloatingType(value.scalar_type())) continue;
    scalars.emplace_back(name, value.detach());
  }
  return scalars;
}

}  // namespace

PassOutcome GradientPass::autograd(const stc_pass_info& info, const DeviceBatch& batch) {
  PassOutcome outcome;
  at::Tensor loss;
  {
    const PhaseClock::Scope phase(phases_, Phase::kForward);
    const AutocastGuard autocast(plan_, device_);
    const ModelOutputs outputs = model_.forward(info, batch.inputs);
    loss = loss_of(outputs, batch.inputs, model_.name());
    outcome.auxiliary = auxiliary_of(outputs);
  }
  if (!loss.requires_grad()) {
    throw TrainError("model " + model_.name() + ": the loss does not depend on any trainable parameter",
                     "forward must compute it from parameters that require gradients");
  }
  outcome.loss = loss.detach();
  const PhaseClock::Scope phase(phases_, Phase::kBackward);
  (info.weight == 1.0 ? loss : loss.mul(info.weight)).backward();
  return outcome;
}

PassOutcome GradientPass::fused(const stc_pass_info& info, const DeviceBatch& batch) {
  PassOutcome outcome;
  ModelOutputs auxiliary;
  const PhaseClock::Scope phase(phases_, Phase::kForward);
  const AutocastGuard autocast(plan_, device_);
  const TensorHandle loss = model_.loss_and_grad(info, batch.inputs, auxiliary, outcome.reason);
  if (!loss) return outcome;
  outcome.loss = to_tensor(loss.get()).detach();
  outcome.auxiliary = auxiliary_of(auxiliary);
  return outcome;
}

}  // namespace stc::host
