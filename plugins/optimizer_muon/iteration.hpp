/// \file
/// The update of a batch of matrices of one shape: which passes run on which rows, in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "passes.hpp"
#include "products.hpp"
#include "slot.hpp"

namespace stc::muon {

/// Matrices of one shape, type and orientation, with room for the iteration. R: short, C: long side.
template <class P, class S>
class Iteration {
 public:
  static constexpr int64_t kBlock = 128;  // rows of one task; never depends on the number of threads
  /// Up to this many multiply-adds of a product, a matrix is not worth several threads.
  static constexpr int64_t kSmall = int64_t{1} << 21;

  /// Bytes of scratch for one matrix: X, Y, A and P.
  static int64_t scratch_bytes(int64_t short_side, int64_t long_side) {
    return (2 * short_side * long_side + 2 * short_side * short_side) * static_cast<int64_t>(sizeof(S));
  }

  Iteration(const Settings& settings, const std::vector<Matrix>& batch, void* scratch)
      : settings_(settings),
        batch_(batch),
        rows_(std::min(batch[0].rows, batch[0].cols)),
        cols_(std::max(batch[0].rows, batch[0].cols)),
        scratch_(static_cast<S*>(scratch)),
        squares_(batch.size() * static_cast<size_t>(blocks(batch[0].rows))) {}

  int64_t size() const { return static_cast<int64_t>(batch_.size()); }
  bool small() const { return rows_ * rows_ * cols_ <= kSmall; }

  /// All passes over matrices [first, last). run(n, task) calls task(i) for every i in [0, n), in any order
  /// and on any threads, and returns when all are done.
  template <class Run>
  void work(int64_t first, int64_t last, Run&& run) {
    const int64_t matrices = last - first;
    // task(matrix, block begin, block end) for every block of `total` rows of every matrix
    const auto each = [&](int64_t total, auto&& task) {
      const int64_t n = blocks(total);
      run(matrices * n, [&](int64_t i) {
        const int64_t block = spread(i % n, n);
        task(first + i / n, block * kBlock, std::min(total, (block + 1) * kBlock));
      });
    };
    const int64_t w_rows = batch_[0].rows;
    each(w_rows, [&](int64_t m, int64_t begin, int64_t end) {
      square(m, begin) = direct<P, S>(matrix(m), settings_.momentum, settings_.nesterov, begin, end, x(m));
    });
    each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
      scale(x(m) + begin * cols_, (end - begin) * cols_, 1 / (norm(m) + kGuard));
    });
    bool swapped = false;
    for (int64_t s = 0; s < settings_.ns_steps; ++s, swapped = !swapped) {
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
        gram_rows(from(m, swapped), rows_, cols_, begin, end, a(m));
      });
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) { polynomial_rows(a(m), rows_, begin, end, p(m)); });
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
        product_rows(p(m), from(m, swapped), rows_, cols_, begin, end, from(m, !swapped));
      });
    }
    if (settings_.plus) normalise(each, swapped);
    each(w_rows, [&](int64_t m, int64_t begin, int64_t end) {
      apply<P, S>(matrix(m), settings_.cautious, begin, end, from(m, swapped));
    });
  }

 private:
  static int64_t blocks(int64_t total) { return (total + kBlock - 1) / kBlock; }
  /// 0, n-1, 1, n-2, ...: the work of a symmetric product grows with the block, and threads get neighbours.
  static int64_t spread(int64_t i, int64_t n) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; }

  /// Rows of W, then its columns: the other way round where X is transposed.
  template <class Each>
  void normalise(Each&& each, bool swapped) {
    const auto by_rows = [&] {
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
        normalise_rows(from(m, swapped), cols_, begin, end, settings_.norm_eps);
      });
    };
    const auto by_columns = [&] {
      each(cols_, [&](int64_t m, int64_t begin, int64_t end) {
        normalise_columns(from(m, swapped), rows_, cols_, begin, end, settings_.norm_eps);
      });
    };
    if (batch_[0].transposed) {
      by_columns();
      by_rows();
    } else {
      by_rows();
      by_columns();
    }
  }

  const Matrix& matrix(int64_t m) const { return batch_[static_cast<size_t>(m)]; }
  S* room(int64_t m) { return scratch_ + m * (2 * rows_ * cols_ + 2 * rows_ * rows_); }
  S* x(int64_t m) { return room(m); }
  S* from(int64_t m, bool swapped) { return room(m) + (swapped ? rows_ * cols_ : 0); }
  S* a(int64_t m) { return room(m) + 2 * rows_ * cols_; }
  S* p(int64_t m) { return a(m) + rows_ * rows_; }
  double& square(int64_t m, int64_t begin) {
    return squares_[static_cast<size_t>(m * blocks(batch_[0].rows) + begin / kBlock)];
  }
  /// Frobenius norm of the direction, added up in the order of the blocks.
  double norm(int64_t m) {
    double sum = 0;
    for (int64_t begin = 0; begin < batch_[0].rows; begin += kBlock) sum += square(m, begin);
    return std::sqrt(sum);
  }

  const Settings& settings_;
  const std::vector<Matrix>& batch_;
  int64_t rows_, cols_;
  S* scratch_;
  std::vector<double> squares_;
};

}  // namespace stc::muon
