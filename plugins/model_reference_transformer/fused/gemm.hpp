/// \file
/// The matrix product that LibTorch's library exports, in row-major terms.
#pragma once

#include <cstdint>

namespace stc::reference_transformer::fused {

enum class Op { kNone, kTransposed };

/// Whether this LibTorch exports it. Without it there is no fused pass.
bool has_gemm();

/// C (m,n) = alpha op(A) op(B) + beta C; rows are lda, ldb and ldc elements apart. With beta 0 what C held is not read.
/// On several threads when called outside of a parallel loop, else on the calling one. Sizes are below 2^31.
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b,
          int64_t ldb, float beta, float* c, int64_t ldc);

}  // namespace stc::reference_transformer::fused
