/// \file
/// What AdamW keeps of one bound parameter.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <stc/stable/bound.hpp>

#include "kernel.hpp"

namespace stc::adamw {

struct Settings {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  bool fused = true;            // on the CPU
  bool fused_on_device = true;  // elsewhere: LibTorch's fused operator
  bool cautious = false;
};

struct Slot : stable::BoundInfo {
  Element element = Element::kFloat32;
  int64_t updates = 0;  // made so far
  // on the host: views into the packed moments
  void* exp_avg = nullptr;
  void* exp_avg_sq = nullptr;
  // elsewhere
  stable::Tensor device_exp_avg, device_exp_avg_sq;
};

/// The multipliers of update number t (from 1) at rate lr.
template <class S>
Factors<S> make_factors(const Settings& s, double lr, double weight_decay, double grad_factor, int64_t t) {
  const auto n = static_cast<double>(t);
  return {static_cast<S>(grad_factor),
          static_cast<S>(s.beta1),
          static_cast<S>(1 - s.beta1),
          static_cast<S>(s.beta2),
          static_cast<S>(1 - s.beta2),
          static_cast<S>(1 - lr * weight_decay),
          static_cast<S>(lr / (1 - std::pow(s.beta1, n))),
          static_cast<S>(1 / std::sqrt(1 - std::pow(s.beta2, n))),
          static_cast<S>(s.eps)};
}

}  // namespace stc::adamw
