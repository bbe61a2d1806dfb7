/// \file
/// Element-wise passes of Muon over rows of a matrix. P: type of parameter and gradient in memory; S: type of
/// the arithmetic and the momentum, fp64 for fp64 parameters and fp32 else.
///
/// W is the parameter (R x C, row-major). X is what the iteration works on: W's update direction, transposed
/// when R > C, so that its rows are the short side.
#pragma once

#include <cstdint>

namespace stc::muon {

/// One matrix in work.
struct Matrix {
  void* parameter = nullptr;       // P
  const void* gradient = nullptr;  // P
  void* momentum = nullptr;        // S
  int64_t rows = 0, cols = 0;      // of W
  bool transposed = false;
  double grad_factor = 1;
  double decay = 1;  // 1 - lr * weight_decay
  double rate = 0;   // lr * sqrt(max(1, R/C))
};

/// Momentum and direction of rows [begin, end) of W: m = mu m + (1 - mu) g; q = g + mu (m - g), or m without
/// nesterov. Writes q to x. \returns the sum of squares of q, added up in double.
template <class P, class S>
double direct(const Matrix& w, double mu, bool nesterov, int64_t begin, int64_t end, S* x);

/// x *= factor over `count` elements.
template <class S>
void scale(S* x, int64_t count, double factor);

/// Muon+: each row [begin, end) of x, of `cols` elements, divided by sqrt(sum of squares + eps).
template <class S>
void normalise_rows(S* x, int64_t cols, int64_t begin, int64_t end, double eps);

/// The same for columns [begin, end) of x (rows x cols).
template <class S>
void normalise_columns(S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, double eps);

/// p' = p decay - rate u for rows [begin, end) of W, u from x. With cautious, p' stays only where p - p' and
/// the gradient have the same sign.
template <class P, class S>
void apply(const Matrix& w, bool cautious, int64_t begin, int64_t end, const S* x);

}  // namespace stc::muon
