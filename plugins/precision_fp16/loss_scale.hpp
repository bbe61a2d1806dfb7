/// \file
/// Dynamic loss scale (Micikevicius et al., Mixed Precision Training, arXiv:1710.03740, section 3.2): grows
/// while gradients stay finite, shrinks when they do not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "stc/plain/precision.hpp"

namespace stc::precision_fp16 {

struct LossScaleParams {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;

  template <class V>
  static void describe(V& v) {
    v("init_scale", &LossScaleParams::init_scale, "the loss scale at the start", stc::between(0.0, 1e38));
    v("growth_factor", &LossScaleParams::growth_factor, "times the scale after growth_interval updates",
      stc::above(1.0));
    v("backoff_factor", &LossScaleParams::backoff_factor, "times the scale after an overflow", stc::between(0.0, 1.0));
    v("growth_interval", &LossScaleParams::growth_interval, "updates in a row without overflow", stc::at_least(1));
  }
};

class LossScale {
 public:
  explicit LossScale(const LossScaleParams& params) : params_(params), scale_(params.init_scale) {}

  double scale() const { return scale_; }

  /// After each attempted update. The scale stays a normal number of float32.
  void update(bool found_inf) {
    if (found_inf) {
      scale_ = std::max<double>(scale_ * params_.backoff_factor, std::numeric_limits<float>::min());
      good_updates_ = 0;
      return;
    }
    if (++good_updates_ < params_.growth_interval) return;
    good_updates_ = 0;
    const double grown = scale_ * params_.growth_factor;
    if (grown <= std::numeric_limits<float>::max()) scale_ = grown;
  }

  void save(StateWriter& state) const {
    state.number("scale", scale_);
    state.number("good_updates", good_updates_);
  }
  /// A checkpoint of another precision has neither: the scale begins anew.
  void load(StateReader& state) {
    scale_ = state.number<double>("scale").value_or(params_.init_scale);
    good_updates_ = state.number<int64_t>("good_updates").value_or(0);
  }

 private:
  LossScaleParams params_;
  double scale_;
  int64_t good_updates_ = 0;  // since the last change
};

}  // namespace stc::precision_fp16
