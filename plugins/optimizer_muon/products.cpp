#include "products.hpp"

#include <algorithm>

#include "gemm/gemm.hpp"
#include "slot.hpp"

// Fortran's matrix product, exported by most builds of LibTorch.
extern "C" {
__attribute__((weak)) void dgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                                  const int* k, const double* alpha, const double* a, const int* lda, const double* b,
                                  const int* ldb, const double* beta, double* c, const int* ldc);
}

namespace stc::muon {
namespace {

/// C = alpha A op(B) + beta C, row-major, all with the given row lengths. op transposes when asked.
void multiply(bool transpose_b, int64_t rows, int64_t cols, int64_t inner, float alpha, const float* a, int64_t lda,
              const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  gemm::multiply(
      {{a, lda, 1}, {b, transpose_b ? 1 : ldb, transpose_b ? ldb : 1}, c, ldc, rows, cols, inner, alpha, beta});
}

void multiply(bool transpose_b, int64_t rows, int64_t cols, int64_t inner, double alpha, const double* a, int64_t lda,
              const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  // Fortran reads rows as columns: C^T = op(B)^T A^T.
  const int m = static_cast<int>(cols), n = static_cast<int>(rows), k = static_cast<int>(inner);
  const int row_a = static_cast<int>(lda), row_b = static_cast<int>(ldb), row_c = static_cast<int>(ldc);
  dgemm_(transpose_b ? "T" : "N", "N", &m, &n, &k, &alpha, b, &row_b, a, &row_a, &beta, c, &row_c);
}

/// Copies what lies left of and below the diagonal in rows [begin, end) to the other side.
template <class S>
void mirror(S* a, int64_t rows, int64_t begin, int64_t end) {
  for (int64_t c = 0; c < end; ++c) {
    for (int64_t r = std::max(c + 1, begin); r < end; ++r) a[c * rows + r] = a[r * rows + c];
  }
}

}  // namespace

bool has_products() { return &dgemm_ != nullptr; }

template <class S>
void gram_rows(const S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, S* a) {
  multiply(true, end - begin, end, cols, S{1}, x + begin * cols, cols, x, cols, S{0}, a + begin * rows, rows);
  mirror(a, rows, begin, end);
}

template <class S>
void polynomial_rows(const S* a, int64_t rows, int64_t begin, int64_t end, S* p) {
  for (int64_t r = begin; r < end; ++r) std::copy_n(a + r * rows, end, p + r * rows);
  multiply(false, end - begin, end, rows, static_cast<S>(kC), a + begin * rows, rows, a, rows, static_cast<S>(kB),
           p + begin * rows, rows);
  for (int64_t r = begin; r < end; ++r) p[r * rows + r] += static_cast<S>(kA);
  mirror(p, rows, begin, end);
}

template <class S>
void symmetric_product_rows(const S* a, const S* b, int64_t rows, int64_t begin, int64_t end, S* product) {
  multiply(false, end - begin, end, rows, S{1}, a + begin * rows, rows, b, rows, S{0}, product + begin * rows, rows);
  mirror(product, rows, begin, end);
}

template <class S>
void product_rows(const S* p, const S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, S* y) {
  multiply(false, end - begin, cols, rows, S{1}, p + begin * rows, rows, x, cols, S{0}, y + begin * cols, cols);
}

#define STC_MUON_PRODUCTS(S)                                                                  \
  template void gram_rows<S>(const S*, int64_t, int64_t, int64_t, int64_t, S*);               \
  template void polynomial_rows<S>(const S*, int64_t, int64_t, int64_t, S*);                  \
  template void symmetric_product_rows<S>(const S*, const S*, int64_t, int64_t, int64_t, S*); \
  template void product_rows<S>(const S*, const S*, int64_t, int64_t, int64_t, int64_t, S*);
STC_MUON_PRODUCTS(float)
STC_MUON_PRODUCTS(double)

}  // namespace stc::muon
