#include "fused/gemm.hpp"

// Fortran's matrix product, exported by most builds of LibTorch.
extern "C" __attribute__((weak)) void sgemm_(const char* transpose_a, const char* transpose_b, const int* m,
                                             const int* n, const int* k, const float* alpha, const float* a,
                                             const int* lda, const float* b, const int* ldb, const float* beta,
                                             float* c, const int* ldc);

namespace stc::reference_transformer::fused {

bool has_gemm() { return &sgemm_ != nullptr; }

void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b,
          int64_t ldb, float beta, float* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  // Fortran reads rows as columns: C^T = op(B)^T op(A)^T.
  const int rows = static_cast<int>(n), cols = static_cast<int>(m), inner = static_cast<int>(k);
  const int row_a = static_cast<int>(lda), row_b = static_cast<int>(ldb), row_c = static_cast<int>(ldc);
  const char* first = op_b == Op::kTransposed ? "T" : "N";
  const char* second = op_a == Op::kTransposed ? "T" : "N";
  sgemm_(first, second, &rows, &cols, &inner, &alpha, b, &row_b, a, &row_a, &beta, c, &row_c);
}

}  // namespace stc::reference_transformer::fused
