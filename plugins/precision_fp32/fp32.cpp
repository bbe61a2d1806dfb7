/// \file
/// Everything in float32: no autocast, no loss scale.
#include <string>
#include <string_view>

#include "stc/plain/precision.hpp"

namespace stc::precision_fp32 {

struct Fp32 {
  /// Whatever is asked for, the answer is float32; a request for another type gets a line in the
  /// log.
  PrecisionPlan resolve(const DeviceInfo&, std::string_view request) const {
    PrecisionPlan plan;
    plan.compute_dtype = STC_DTYPE_FLOAT32;
    if (request != "auto" && request != "fp32") {
      plan.warning = "got " + std::string(request) + ", precision fp32 computes in float32";
    }
    return plan;
  }
};

}  // namespace stc::precision_fp32

STC_PRECISION_PLUGIN(stc::precision_fp32::Fp32, "fp32", "1.0.0", "every product in float32")
