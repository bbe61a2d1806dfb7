/// \file
/// Matrix products in float16 under autocast, with a dynamic loss scale, on CUDA.
#include <string_view>

#include "loss_scale.hpp"

namespace stc::precision_fp16 {

class Fp16 {
 public:
  using Params = LossScaleParams;

  explicit Fp16(const Params& params) : loss_scale_(params) {}

  /// The request does not matter: who chose this plugin asks for fp16.
  PrecisionPlan resolve(const DeviceInfo& device, std::string_view) const {
    if (device.type != STC_DEVICE_CUDA) throw Fault(STC_ERROR_UNSUPPORTED, "fp16 needs a CUDA device");
    PrecisionPlan plan;
    plan.compute_dtype = STC_DTYPE_FLOAT16;
    plan.autocast = true;
    plan.scaler = true;
    return plan;
  }
  double scale() const { return loss_scale_.scale(); }
  void update(bool found_inf) { loss_scale_.update(found_inf); }
  void save(StateWriter& state) const { loss_scale_.save(state); }
  void load(StateReader& state) { loss_scale_.load(state); }

 private:
  LossScale loss_scale_;
};

}  // namespace stc::precision_fp16

STC_PRECISION_PLUGIN(stc::precision_fp16::Fp16, "fp16", "1.0.0", "matrix products in float16, with a loss scale")
