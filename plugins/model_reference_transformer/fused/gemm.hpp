/// \file
/// Matrix products of row-major fp32 arrays by the library inside of LibTorch.
#pragma once

#include <cstdint>

namespace stc::reference_transformer {

/// Whether LibTorch's library exports the product; nothing below may be called otherwise.
bool has_gemm();

/// y (n, out) = x (n, in) w^T, w (out, in).
void linear(const float* x, const float* w, float* y, int64_t n, int64_t in, int64_t out);
/// dx (n, in) = alpha dy (n, out) w.
void linear_input_gradient(const float* dy, const float* w, float* dx, int64_t n, int64_t in, int64_t out,
                           float alpha = 1.0F);
/// dw (out, in) = alpha dy^T x + beta dw. With beta 0, dw is not read.
void linear_weight_gradient(const float* dy, const float* x, float* dw, int64_t n, int64_t in, int64_t out, float alpha,
                            float beta);

}  // namespace stc::reference_transformer
