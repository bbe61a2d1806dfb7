#include "gemm.hpp"

// Fortran's matrix product, exported by most builds of LibTorch.
extern "C" {
__attribute__((weak)) void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                                  const int* k, const float* alpha, const float* a, const int* lda, const float* b,
                                  const int* ldb, const float* beta, float* c, const int* ldc);
}

namespace stc::reference_transformer {
namespace {

struct Matrix {
  const float* data;
  int64_t row;  // elements from one row to the next
  bool transposed;
};

/// C (rows, cols) = alpha op(A) op(B) + beta C. Fortran reads rows as columns: C^T = op(B)^T op(A)^T.
void multiply(Matrix a, Matrix b, float* c, int64_t rows, int64_t cols, int64_t inner, float alpha, float beta) {
  const int m = static_cast<int>(cols), n = static_cast<int>(rows), k = static_cast<int>(inner);
  const int row_a = static_cast<int>(a.row), row_b = static_cast<int>(b.row);
  sgemm_(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &m, &n, &k, &alpha, b.data, &row_b, a.data, &row_a, &beta,
         c, &m);
}

}  // namespace

bool has_gemm() { return &sgemm_ != nullptr; }

void linear(const float* x, const float* w, float* y, int64_t n, int64_t in, int64_t out) {
  multiply({x, in, false}, {w, in, true}, y, n, out, in, 1.0F, 0.0F);
}

void linear_input_gradient(const float* dy, const float* w, float* dx, int64_t n, int64_t in, int64_t out,
                           float alpha) {
  multiply({dy, out, false}, {w, in, false}, dx, n, in, out, alpha, 0.0F);
}

void linear_weight_gradient(const float* dy, const float* x, float* dw, int64_t n, int64_t in, int64_t out, float alpha,
                            float beta) {
  multiply({dy, out, true}, {x, in, false}, dw, out, in, n, alpha, beta);
}

}  // namespace stc::reference_transformer
