/// \file
/// The update of a batch of matrices of one shape: which passes run on which rows, in which order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
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

  /// Steps that are taken on the small Gram matrix before X is looked at again. An error in a small eigenvalue of
  /// A grows by up to 3.4445^2 a step, so that more would cost digits.
  static constexpr int64_t kChain = 3;

  /// Bytes of scratch for one matrix.
  static int64_t scratch_bytes(int64_t short_side, int64_t long_side) {
    return room_size(short_side, long_side) * static_cast<int64_t>(sizeof(S));
  }

  Iteration(const Settings& settings, const std::vector<Matrix>& batch, void* scratch)
      : settings_(settings),
        batch_(batch),
        rows_(std::min(batch[0].rows, batch[0].cols)),
        cols_(std::max(batch[0].rows, batch[0].cols)),
        scratch_(static_cast<S*>(scratch)),
        sums_(batch.size() * static_cast<size_t>(blocks(batch[0].rows))) {}

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
      partial_sum(m, begin) = direct<P, S>(matrix(m), settings_.momentum, settings_.nesterov, begin, end, x(m));
    });
    each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
      scale(x(m) + begin * cols_, (end - begin) * cols_, 1 / (norm(m) + kGuard));
    });
    const bool swapped = orthogonalise(each);
    if (settings_.plus) normalise(each, swapped);
    each(w_rows, [&](int64_t m, int64_t begin, int64_t end) {
      apply<P, S>(matrix(m), settings_.cautious, begin, end, from(m, swapped));
    });
  }

 private:
  static int64_t blocks(int64_t total) { return (total + kBlock - 1) / kBlock; }
  /// 0, n-1, 1, n-2, ...: the work of a symmetric product grows with the block, and threads get neighbours.
  static int64_t spread(int64_t i, int64_t n) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; }

  /// Whether k steps on the Gram matrix (3C + 5R or 9R, times R^2) are cheaper than k on X (3C + R each).
  static bool chained(int64_t short_side, int64_t long_side) { return 2 * long_side >= 3 * short_side; }
  /// X and Y; A and P, in a chain also Q and a product.
  static int64_t room_size(int64_t short_side, int64_t long_side) {
    return 2 * short_side * long_side + (chained(short_side, long_side) ? 4 : 2) * short_side * short_side;
  }

  /// The Newton-Schulz steps, from x; returns where the result is. With A = X X^T and the polynomial P of A,
  /// X' = P X has the Gram matrix P A P, and all of them commute: the steps of a chain work on those and collect
  /// Q = P3 P2 P1, which is applied to X once.
  template <class Each>
  bool orthogonalise(Each&& each) {
    bool swapped = false;
    for (int64_t done = 0; done < settings_.ns_steps; swapped = !swapped) {
      const int64_t steps = chained(rows_, cols_) ? std::min(kChain, settings_.ns_steps - done) : 1;
      const int a = 0;
      int p = 1, q = 2, t = 3;
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
        gram_rows(from(m, swapped), rows_, cols_, begin, end, square(m, a));
      });
      for (int64_t s = 0; s < steps; ++s) {
        each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
          polynomial_rows(square(m, a), rows_, begin, end, square(m, p));
        });
        const int latest = p;
        if (s == 0) {
          std::swap(p, q);
        } else {
          multiply(each, p, q, t);
          std::swap(q, t);
        }
        if (s + 1 == steps) break;
        multiply(each, latest, a, t);
        multiply(each, t, latest, a);
      }
      each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
        product_rows(square(m, q), from(m, swapped), rows_, cols_, begin, end, from(m, !swapped));
      });
      done += steps;
    }
    return swapped;
  }

  template <class Each>
  void multiply(Each&& each, int left, int right, int result) {
    each(rows_, [&](int64_t m, int64_t begin, int64_t end) {
      symmetric_product_rows(square(m, left), square(m, right), rows_, begin, end, square(m, result));
    });
  }

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
  S* room(int64_t m) { return scratch_ + m * room_size(rows_, cols_); }
  S* x(int64_t m) { return room(m); }
  S* from(int64_t m, bool swapped) { return room(m) + (swapped ? rows_ * cols_ : 0); }
  /// One of the R x R matrices.
  S* square(int64_t m, int index) { return room(m) + 2 * rows_ * cols_ + index * rows_ * rows_; }
  double& partial_sum(int64_t m, int64_t begin) {
    return sums_[static_cast<size_t>(m * blocks(batch_[0].rows) + begin / kBlock)];
  }
  /// Frobenius norm of the direction, added up in the order of the blocks.
  double norm(int64_t m) {
    double sum = 0;
    for (int64_t begin = 0; begin < batch_[0].rows; begin += kBlock) sum += partial_sum(m, begin);
    return std::sqrt(sum);
  }

  const Settings& settings_;
  const std::vector<Matrix>& batch_;
  int64_t rows_, cols_;
  S* scratch_;
  std::vector<double> sums_;
};

}  // namespace stc::muon
