// A precision of fp32 that breaks one rule.

#include "stc/abi/precision.h"

#include <limits>

#include "library.hpp"

using stc::broken::breaks;

struct stc_precision {
  const stc_host* host;
};

namespace {

stc_error* resolve(stc_precision*, const stc_device_info*, const char*, stc_precision_plan* out) {
  out->compute_dtype = breaks("whole_numbers") ? STC_DTYPE_INT32 : STC_DTYPE_FLOAT32;
  return nullptr;
}

double scale(stc_precision*) {
  if (breaks("scale_zero")) return 0.0;
  return breaks("scale_infinite") ? std::numeric_limits<double>::infinity() : 1.0;
}

void update(stc_precision*, int32_t) {}

constexpr stc_precision_api kTable{.struct_size = sizeof(stc_precision_api),
                                   .reserved = 0,
                                   .create = stc::broken::create,
                                   .destroy = stc::broken::destroy,
                                   .resolve = resolve,
                                   .scale = scale,
                                   .update = update,
                                   .state_save = nullptr,
                                   .state_load = nullptr};

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_PRECISION, kTable)
