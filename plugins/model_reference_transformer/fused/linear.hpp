/// \file
/// The three products of a linear layer over row-major fp32 arrays.
#pragma once

#include <cstdint>

#include "gemm/gemm.hpp"

namespace stc::reference_transformer {

/// A linear layer of `n` rows with w (out, in), computed on up to `threads` threads of `parallel`.
struct Linear {
  int64_t n = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t threads = 1;
  bool bf16 = false;  // all that is multiplied are values of bf16
  const gemm::Parallel& parallel;

  /// y (n, out) = x (n, in) w^T.
  void forward(const float* x, const float* w, float* y) const {
    gemm::multiply({{x, in, 1}, {w, 1, in}, y, out, n, out, in, 1.0F, 0.0F, bf16}, threads, parallel);
  }
  /// dx (n, in) = alpha dy (n, out) w.
  void input_gradient(const float* dy, const float* w, float* dx, float alpha = 1.0F) const {
    gemm::multiply({{dy, out, 1}, {w, in, 1}, dx, in, n, in, out, alpha, 0.0F, bf16}, threads, parallel);
  }
  /// dw (out, in) = alpha dy^T x + beta dw. With beta 0, dw is not read.
  void weight_gradient(const float* dy, const float* x, float* dw, float alpha, float beta) const {
    gemm::multiply({{dy, 1, out}, {x, in, 1}, dw, in, out, in, n, alpha, beta, bf16}, threads, parallel);
  }
};

}  // namespace stc::reference_transformer
