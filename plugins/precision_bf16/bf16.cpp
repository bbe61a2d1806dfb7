/// \file
/// Matrix products in bfloat16 under autocast; no loss scale, its exponents are those of float32.
#include <string_view>

#include "stc/plain/precision.hpp"

namespace stc::precision_bf16 {

struct Bf16 {
  /// The request does not matter: who chose this plugin asks for bf16.
  PrecisionPlan resolve(const DeviceInfo& device, std::string_view) const {
    const bool able = device.type == STC_DEVICE_CPU || (device.type == STC_DEVICE_CUDA && device.bf16);
    if (!able) throw Fault(STC_ERROR_UNSUPPORTED, "bf16 needs a CPU, or a CUDA device with bf16 units");
    PrecisionPlan plan;
    plan.compute_dtype = STC_DTYPE_BFLOAT16;
    plan.autocast = true;
    return plan;
  }
};

}  // namespace stc::precision_bf16

STC_PRECISION_PLUGIN(stc::precision_bf16::Bf16, "bf16", "1.0.0", "matrix products in bfloat16")
