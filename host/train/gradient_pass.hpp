/// \file
/// One micro-batch through a model: forward, loss, gradients.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/train/device_batch.hpp"
#include "host/train/model.hpp"
#include "host/train/phases.hpp"
#include "host/train/precision.hpp"

namespace stc::host {

/// What a pass gives. Tensors are 0-d, detached, on the model's device; nothing has been waited for.
struct PassOutcome {
  at::Tensor loss;  // plain mean over the micro-batch; undefined: the model handed the batch back
  std::vector<std::pair<std::string, at::Tensor>> auxiliary;
  std::string reason;  // why the model handed back
};

/// Adds gradients into the parameters' gradients or the model's own buffers. [train-thread]
class GradientPass {
 public:
  GradientPass(Model& model, const PrecisionPlan& plan, at::Device device, PhaseClock& phases)
      : model_(model), plan_(plan), device_(device), phases_(phases) {}
  /// The model's forward under autocast, then backward of the loss times info.weight.
  /// \throws TrainError, ShapeError, DataError, PluginError
  PassOutcome autograd(const stc_pass_info& info, const DeviceBatch& batch);
  /// The model's own fused pass, under autocast; its time counts as forward. \pre model.has_loss_and_grad()
  PassOutcome fused(const stc_pass_info& info, const DeviceBatch& batch);

 private:
  Model& model_;
  PrecisionPlan plan_;
  at::Device device_;
  PhaseClock& phases_;
};

}  // namespace stc::host
