/// \file
/// What an optimizer author sees, whatever the level.
#pragma once

#include <cstdint>
#include <string>

#include "stc/abi/optimizer.h"

namespace stc {

/// A trainable parameter; its storage never moves.
template <class Tensor>
struct BasicBoundParameter {
  std::string name;
  Tensor tensor;
  int32_t role = STC_ROLE_OTHER;
  uint32_t group = 0;
};

/// The rate of a parameter is step.lr * lr_scale of its group.
struct Group {
  double lr_scale = 1.0;
  double weight_decay = 0.0;  // >= 0, decoupled
};

/// One update.
struct Step {
  double lr = 0.0;                     // > 0, already scheduled
  uint64_t step = 0;                   // updates made before this one, from 0
  double grad_factor = 1.0;            // multiplies every gradient first
  stc_tensor grad_factor_t = nullptr;  // 0-d fp32 on the device, or null; replaces grad_factor
  stc_tensor found_inf = nullptr;      // 0-d fp32 on the device, or null; when not 0 nothing may change

  Step() = default;
  explicit Step(const stc_step_info& info)
      : lr(info.lr),
        step(info.step),
        grad_factor(info.grad_factor),
        grad_factor_t(info.grad_factor_t),
        found_inf(info.found_inf) {}
};

/// The gradients of one step, in the order of bind. They may be left scaled: nobody reads them after.
template <class Level>
class BasicGradients {
 public:
  BasicGradients(const stc_tensor* items, uint32_t count) : items_(items), count_(count) {}
  uint32_t size() const { return count_; }
  /// False: no gradient in this window. Parameter, state and decay stay untouched then.
  bool has(uint32_t index) const { return items_[index] != nullptr; }
  /// The gradient of a parameter that has one.
  typename Level::Tensor operator[](uint32_t index) const { return Level::from_borrowed(items_[index]); }
  /// The handle itself, null when there is none.
  stc_tensor raw(uint32_t index) const { return items_[index]; }
  const stc_tensor* data() const { return items_; }

 private:
  const stc_tensor* items_;
  uint32_t count_;
};

}  // namespace stc
