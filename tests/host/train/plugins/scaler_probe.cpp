// Plugins of the loss-scale test: the scaler of precision fp16 forced onto any device, and a model whose gradient
// passes through float16, so that it overflows there as a real one does.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/precision_fp16/loss_scale.hpp"
#include "stc/exact/model.hpp"

namespace stc::test {

class ForcedScaler {
 public:
  using Params = precision_fp16::LossScaleParams;
  explicit ForcedScaler(const Params& params) : loss_scale_(params) {}
  PrecisionPlan resolve(const DeviceInfo&, std::string_view) const {
    PrecisionPlan plan;
    plan.scaler = true;
    return plan;
  }
  double scale() const { return loss_scale_.scale(); }
  void update(bool found_inf) { loss_scale_.update(found_inf); }
  void save(stc::StateWriter& state) const { loss_scale_.save(state); }
  void load(stc::StateReader& state) { loss_scale_.load(state); }

 private:
  precision_fp16::LossScale loss_scale_;
};

/// loss = sum(w * strength) / 4. The gradient of w is strength / 4 times the loss scale, in float16: beyond 65504 it is
/// infinite.
class HalfProbe {
 public:
  struct Params {
    std::vector<int64_t> bad_passes;  // those forwards have a strength of 60000
    bool by_token = false;            // the strength is 8 where the first token is divisible by 4, else 1
    int64_t bad_from = -1;            // every forward from this one on is bad; -1: none
    template <class V>
    static void describe(V& v) {
      v("bad_passes", &Params::bad_passes, "forwards that overflow");
      v("by_token", &Params::by_token, "strength follows the batch");
      v("bad_from", &Params::bad_from, "first of the forwards that all overflow");
    }
  };
  explicit HalfProbe(const Params& params) : params_(params) { w_.requires_grad_(true); }

  std::vector<exact::Parameter> parameters() { return {{"w", w_, STC_ROLE_LINEAR, {}, true}}; }
  exact::Outputs forward(const exact::Pass&, const exact::Inputs& inputs) {
    const int64_t pass = passes_++;
    double strength = 1.0;
    if (params_.by_token && inputs.find("input_ids")->const_data_ptr<int64_t>()[0] % 4 == 0) strength = 8.0;
    const auto& bad = params_.bad_passes;
    if (std::find(bad.begin(), bad.end(), pass) != bad.end()) strength = 60000.0;
    if (params_.bad_from >= 0 && pass >= params_.bad_from) strength = 60000.0;
    return {{"loss", (w_.to(at::kHalf) * strength).to(at::kFloat).sum() * 0.25}};
  }

 private:
  Params params_;
  int64_t passes_ = 0;
  at::Tensor w_ = at::ones({4, 2}, at::kFloat);
};

}  // namespace stc::test

using stc::test::ForcedScaler;
using stc::test::HalfProbe;

STC_DEFINE_PRECISION(ForcedScaler, "forced_scaler", "1.0.0", "the scaler of fp16 on any device");
STC_DEFINE_EXACT_MODEL(HalfProbe, "half_probe", "1.0.0", "a gradient that passes through float16");
STC_PLUGIN_LIBRARY(exact, ForcedScaler, HalfProbe);
