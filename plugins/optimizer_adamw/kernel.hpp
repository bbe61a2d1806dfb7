/// \file
/// The update of a stretch of elements, in one pass over memory.
#pragma once

#include <cstdint>

namespace stc::adamw {

/// What one update multiplies with, computed in double and rounded once. t: updates including this one.
template <class S>
struct Factors {
  S grad_factor;
  S beta1, one_minus_beta1;
  S beta2, one_minus_beta2;
  S decay;       // 1 - lr * weight_decay
  S step;        // lr / (1 - beta1^t)
  S root_scale;  // 1 / sqrt(1 - beta2^t)
  S eps;
};

/// Parameter types, by their STC_DTYPE_*.
enum class Element { kFloat32, kFloat64, kFloat16, kBFloat16 };

/// A stretch of one parameter: parameter and gradient in the parameter's type, moments in fp64 for fp64
/// and in fp32 else. All four are disjoint and hold `count` elements.
struct Stretch {
  void* parameter;
  const void* gradient;
  void* exp_avg;
  void* exp_avg_sq;
  int64_t count;
};

/// g = grad_factor * gradient; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g;
/// p' = p decay - step m / (sqrt(v) root_scale + eps)
/// (AdamW with decoupled decay: Loshchilov and Hutter, arXiv:1711.05101, algorithm 2.)
/// With cautious, p' stays only where p - p' and g have the same sign; m and v change in any case.
///
/// Every operation is rounded by itself (no fused multiply-add) and independent of its neighbours, so that
/// the bits depend neither on the machine's vector width nor on where a stretch begins.
/// factors: Factors<double> for kFloat64, Factors<float> else.
void update(Element element, const void* factors, bool cautious, const Stretch& stretch);

/// The same, one element after the other and without vector instructions of choice: `fused: false`.
void update_plain(Element element, const void* factors, bool cautious, const Stretch& stretch);

}  // namespace stc::adamw
