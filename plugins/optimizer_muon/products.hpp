/// \file
/// Products of row-major matrices on the calling thread, in fp32 by plugins/gemm, in fp64 by what LibTorch's library
/// exports. The results of products() in a parallel region depend on nothing but their operands.
#pragma once

#include <cstdint>

namespace stc::muon {

/// False where LibTorch exports no such routines; then the operators do the work.
bool has_products();

/// Rows [begin, end) of the symmetric A = X X^T up to the diagonal, and their mirror. X: rows x cols; A: rows x
/// rows. Blocks that cover all rows give all of A, in about half the operations of a full product.
template <class S>
void gram_rows(const S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, S* a);

/// The same of the symmetric P = a I + b A + c A A, for a symmetric A.
template <class S>
void polynomial_rows(const S* a, int64_t rows, int64_t begin, int64_t end, S* p);

/// The same of A B, for symmetric A and B whose product is symmetric.
template <class S>
void symmetric_product_rows(const S* a, const S* b, int64_t rows, int64_t begin, int64_t end, S* product);

/// Rows [begin, end) of Y = P X. P: rows x rows; X and Y: rows x cols.
template <class S>
void product_rows(const S* p, const S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, S* y);

}  // namespace stc::muon
