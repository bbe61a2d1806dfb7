/// \file
/// What the two ways through the model on the CPU share: kernels, threads, and the weights as products use them.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels.hpp"
#include "parallel.hpp"
#include "parameters.hpp"

namespace stc::reference_transformer::cpu {

inline const float* data(const at::Tensor& t) { return t.const_data_ptr<float>(); }
inline float* out(at::Tensor& t) { return t.data_ptr<float>(); }

/// Rows per thread chunk when a row costs about `row_cost` element operations.
inline int64_t grain(int64_t row_cost) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row_cost)); }

/// Shared by the nodes of one model.
struct Shared {
  std::shared_ptr<Parameters> parameters;
  const Kernels& kernels;
  Parallel parallel;
  bool bf16 = false;  // products multiply what is rounded to bf16

  /// The weight as products use it.
  const at::Tensor& matrix(const Slice& weight) const { return bf16 ? weight.bf16 : weight.value; }
  const at::Tensor& transposed(const Slice& weight) const { return bf16 ? weight.bf16_transposed : weight.transposed; }
  /// Rounds each element to bf16, in place.
  void round(float* x, int64_t count) const {
    parallel(count, grain(1), [&](int64_t begin, int64_t end) { kernels.round_bf16(x, x, begin, end); });
  }
  void round(at::Tensor& x) const { round(out(x), x.numel()); }
  /// Makes matrix() current; once after each change of the weights.
  void refresh_bf16() const {
    if (!bf16) return;
    if (!parameters->bf16_values.defined()) parameters->allocate_bf16();
    if (!parameters->bf16_stale) return;
    parallel(parameters->values.numel(), grain(1), [&](int64_t begin, int64_t end) {
      kernels.round_bf16(data(parameters->values), out(parameters->bf16_values), begin, end);
    });
    parameters->bf16_stale = false;
  }
};
using SharedPtr = std::shared_ptr<const Shared>;

}  // namespace stc::reference_transformer::cpu
