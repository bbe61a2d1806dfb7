/// \file
/// Steps of an update by operators, on any device and without waiting for it. Call under NoGradGuard.
#pragma once

#include "stc/core/optimizer_types.hpp"
#include "stc/stable/ops.hpp"

namespace stc::stable {

/// The gradient times the step's factor, in `dtype` (STC_DTYPE_*).
template <int = 0>
Tensor scaled_gradient(const Tensor& gradient, const Step& step, int32_t dtype) {
  const Tensor g = to(gradient, dtype);
  if (step.grad_factor_t != nullptr) return mul(g, to(Tensor::share(step.grad_factor_t), dtype));
  return step.grad_factor == 1.0 ? g : mul(g, step.grad_factor);
}

/// The sign as a number: -1, 0, 1.
template <int = 0>
Tensor sign(const Tensor& self) {
  return call<"aten::sign(Tensor self) -> Tensor">(self);
}

/// True where both are above zero or both below. Signs are multiplied, because the product of two small
/// numbers vanishes.
template <int = 0>
Tensor same_sign(const Tensor& a, const Tensor& b) {
  return gt(mul(sign(a), sign(b)), 0);
}

/// Writes value to `target`, unless the step says that a gradient has overflowed.
template <int = 0>
void write(const Tensor& target, const Tensor& value, const Step& step) {
  if (step.found_inf == nullptr) return copy_(target, value);
  copy_(target, where(gt(Tensor::share(step.found_inf), 0), target, value));
}

}  // namespace stc::stable
