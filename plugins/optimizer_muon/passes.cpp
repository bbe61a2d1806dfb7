// Compiled without fused multiply-add and without reordering (CMakeLists.txt): bits depend neither on the
// machine's vector width nor on where a block of rows begins.

#include "passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

namespace stc::muon {
namespace {

constexpr int64_t kTileRows = 16;  // of W: a cache line of X's columns
constexpr int64_t kTileCols = 128;
constexpr int64_t kLanes = 8;

/// Calls body(row, first column, number of columns, pointer to the direction) for pieces of rows [begin, end).
/// The pointer is into x itself, or into a tile that is gathered from x before (kGather) and scattered to x
/// after (kScatter) when x holds the transposed matrix.
template <bool kGather, bool kScatter, class S, class Body>
void for_pieces(const Matrix& w, int64_t begin, int64_t end, S* x, Body&& body) {
  if (!w.transposed) {
    for (int64_t r = begin; r < end; ++r) body(r, int64_t{0}, w.cols, x + r * w.cols);
    return;
  }
  std::array<std::remove_const_t<S>, kTileRows * kTileCols> tile;
  for (int64_t r0 = begin; r0 < end; r0 += kTileRows) {
    const int64_t rows = std::min(kTileRows, end - r0);
    for (int64_t c0 = 0; c0 < w.cols; c0 += kTileCols) {
      const int64_t cols = std::min(kTileCols, w.cols - c0);
      auto* t = tile.data();
      if constexpr (kGather) {
        for (int64_t c = 0; c < cols; ++c) {
          const S* from = x + (c0 + c) * w.rows + r0;
          for (int64_t r = 0; r < rows; ++r) t[r * kTileCols + c] = from[r];
        }
      }
      for (int64_t r = 0; r < rows; ++r) body(r0 + r, c0, cols, t + r * kTileCols);
      if constexpr (kScatter) {
        for (int64_t c = 0; c < cols; ++c) {
          S* to = x + (c0 + c) * w.rows + r0;
          for (int64_t r = 0; r < rows; ++r) to[r] = t[r * kTileCols + c];
        }
      }
    }
  }
}

template <class S>
double sum_of_squares(const S* x, int64_t count) {
  std::array<double, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const auto value = static_cast<double>(x[i + k]);
      lanes[static_cast<size_t>(k)] += value * value;
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    const auto value = static_cast<double>(x[i]);
    lanes[static_cast<size_t>(k)] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

template <class P, class S>
double direct(const Matrix& w, double mu, bool nesterov, int64_t begin, int64_t end, S* x) {
  const auto factor = static_cast<S>(w.grad_factor);
  const auto keep = static_cast<S>(mu);
  const auto take = static_cast<S>(1 - mu);
  const auto look_ahead = static_cast<S>(nesterov ? mu : 1);
  double sum = 0;
  for_pieces<false, true>(w, begin, end, x, [&](int64_t row, int64_t col, int64_t count, S* q) {
    const P* __restrict gradient = static_cast<const P*>(w.gradient) + row * w.cols + col;
    S* __restrict momentum = static_cast<S*>(w.momentum) + row * w.cols + col;
    S* __restrict out = q;
    if (nesterov) {
      for (int64_t i = 0; i < count; ++i) {
        const S g = static_cast<S>(gradient[i]) * factor;
        const S m = keep * momentum[i] + take * g;
        momentum[i] = m;
        out[i] = g + look_ahead * (m - g);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const S g = static_cast<S>(gradient[i]) * factor;
        out[i] = momentum[i] = keep * momentum[i] + take * g;
      }
    }
    sum += sum_of_squares(out, count);
  });
  return sum;
}

template <class S>
void scale(S* x, int64_t count, double factor) {
  const auto f = static_cast<S>(factor);
  for (int64_t i = 0; i < count; ++i) x[i] *= f;
}

template <class S>
void normalise_rows(S* x, int64_t cols, int64_t begin, int64_t end, double eps) {
  for (int64_t r = begin; r < end; ++r) {
    S* row = x + r * cols;
    scale(row, cols, 1 / std::sqrt(sum_of_squares(row, cols) + eps));
  }
}

template <class S>
void normalise_columns(S* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, double eps) {
  const auto count = static_cast<size_t>(end - begin);
  std::vector<double> sums(count, 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    const S* row = x + r * cols + begin;
    for (size_t c = 0; c < count; ++c) {
      const auto value = static_cast<double>(row[c]);
      sums[c] += value * value;
    }
  }
  std::vector<S> factors(count);
  for (size_t c = 0; c < count; ++c) factors[c] = static_cast<S>(1 / std::sqrt(sums[c] + eps));
  for (int64_t r = 0; r < rows; ++r) {
    S* row = x + r * cols + begin;
    for (size_t c = 0; c < count; ++c) row[c] *= factors[c];
  }
}

template <class P, class S>
void apply(const Matrix& w, bool cautious, int64_t begin, int64_t end, const S* x) {
  const auto decay = static_cast<S>(w.decay);
  const auto rate = static_cast<S>(w.rate);
  const bool reverse = w.grad_factor < 0;
  for_pieces<true, false>(w, begin, end, x, [&](int64_t row, int64_t col, int64_t count, const S* u) {
    P* __restrict parameter = static_cast<P*>(w.parameter) + row * w.cols + col;
    if (!cautious) {
      for (int64_t i = 0; i < count; ++i) {
        parameter[i] = static_cast<P>(static_cast<S>(parameter[i]) * decay - rate * u[i]);
      }
      return;
    }
    const P* __restrict gradient = static_cast<const P*>(w.gradient) + row * w.cols + col;
    for (int64_t i = 0; i < count; ++i) {
      const S p = static_cast<S>(parameter[i]);
      const P next = static_cast<P>(p * decay - rate * u[i]);
      const S d = reverse ? static_cast<S>(next) - p : p - static_cast<S>(next);
      const S g = static_cast<S>(gradient[i]);
      const bool keep = w.grad_factor != 0 && ((d > 0 && g > 0) || (d < 0 && g < 0));
      parameter[i] = keep ? next : parameter[i];
    }
  });
}

#define STC_MUON_PASSES(P, S)                                                      \
  template double direct<P, S>(const Matrix&, double, bool, int64_t, int64_t, S*); \
  template void apply<P, S>(const Matrix&, bool, int64_t, int64_t, const S*);
STC_MUON_PASSES(float, float)
STC_MUON_PASSES(double, double)
STC_MUON_PASSES(c10::Half, float)
STC_MUON_PASSES(c10::BFloat16, float)

#define STC_MUON_ITERATION_PASSES(S)                                      \
  template void scale<S>(S*, int64_t, double);                            \
  template void normalise_rows<S>(S*, int64_t, int64_t, int64_t, double); \
  template void normalise_columns<S>(S*, int64_t, int64_t, int64_t, int64_t, double);
STC_MUON_ITERATION_PASSES(float)
STC_MUON_ITERATION_PASSES(double)

}  // namespace stc::muon
