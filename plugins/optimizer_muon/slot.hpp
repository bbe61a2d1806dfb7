/// \file
/// What Muon keeps of one of its matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <stc/stable/bound.hpp>

namespace stc::muon {

struct Settings {
  double momentum = 0.95;
  int64_t ns_steps = 5;
  double norm_eps = 1e-8;
  bool nesterov = true;
  bool plus = false;
  bool cautious = false;
};

/// Coefficients of the quintic iteration X <- aX + (bA + cAA)X with A = XX^T (Jordan and others 2024).
inline constexpr double kA = 3.4445;
inline constexpr double kB = -4.7750;
inline constexpr double kC = 2.0315;
/// Added to the norm that the iteration begins with a division by.
inline constexpr double kGuard = 1e-7;

struct Slot : stable::BoundInfo {
  uint32_t index = 0;  // in the order of the plugin's bind
  int64_t updates = 0;
  void* momentum = nullptr;        // on the host: a view into the packed buffer
  stable::Tensor device_momentum;  // elsewhere

  int64_t rows() const { return sizes[0]; }
  int64_t cols() const { return sizes[1]; }
  /// The iteration runs on the transposed matrix, whose Gram matrix is the smaller one.
  bool transposed() const { return rows() > cols(); }
  int64_t short_side() const { return std::min(rows(), cols()); }
  int64_t long_side() const { return std::max(rows(), cols()); }
  /// The rate of a tall matrix is larger: sqrt(max(1, R/C)).
  double rate_scale() const {
    return std::sqrt(std::max(1.0, static_cast<double>(rows()) / static_cast<double>(cols())));
  }
};

}  // namespace stc::muon
