/// \file
/// A scope in which the model may be looked at, and after which training goes on as if nobody had.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/rng_state.hpp"

namespace stc::host {

/// Without gradients, the model out of training mode, the optimizer in STC_MODE_EVAL. Afterwards
/// LibTorch's generators, the model's buffers, the parameters (where the optimizer has modes, which
/// need not give them back bit for bit) and both modes are as before. [train-thread]
class EvaluationScope {
 public:
  EvaluationScope(Model& model, Optimizer& optimizer, const at::Device& device);
  /// leave(), whose fault is not told: something else is on its way already.
  ~EvaluationScope();
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;
  /// Puts everything back. Once. \throws PluginError.
  void leave();

 private:
  struct Kept {
    at::Tensor live;
    at::Tensor copy;
  };
  void keep(const at::Tensor& tensor) { kept_.push_back({tensor, tensor.clone()}); }

  at::NoGradGuard no_grad_;
  GeneratorGuard generators_;
  Model& model_;
  Optimizer& optimizer_;
  std::vector<Kept> kept_;
  bool inside_ = true;
};

}  // namespace stc::host
