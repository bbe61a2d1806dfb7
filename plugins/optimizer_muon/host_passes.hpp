/// \file
/// Element-wise passes of the update on the CPU, over stretches of one contiguous fp32 matrix.
#pragma once

#include <cstdint>

namespace stc::muon {

/// b = mu b + (1 - mu) g; out = g + mu (b - g), with g = grad_factor * gradient. Returns the sum of squares
/// of out. All of `count` elements, disjoint but for `out`, which may be nothing else.
double momentum_pass(const float* gradient, float grad_factor, float mu, float* momentum, float* out, int64_t count);

void scale_pass(float* x, float factor, int64_t count);

/// w' = decay w - step u; with cautious, w' stays only where w - w' and the gradient have the same sign.
void apply_pass(float* w, const float* u, const float* gradient, float grad_factor, float decay, float step,
                bool cautious, int64_t count);

}  // namespace stc::muon
