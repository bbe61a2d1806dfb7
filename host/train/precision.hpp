/// \file
/// Adapter of precision plugins.
#pragma once

#include <string>

#include "host/plugins/instance.hpp"
#include "stc/abi/precision.h"

namespace stc::host {

struct PrecisionPlan {
  int compute_dtype = STC_DTYPE_FLOAT32;
  bool autocast = false;
  bool scaler = false;
  std::string warning;
};

/// The configuration's word for a compute type: fp32, bf16, fp16.
std::string precision_word(int dtype);

class Precision : public Instance {
 public:
  explicit Precision(InstanceSpec spec);
  ~Precision() override;
  PrecisionPlan resolve(const stc_device_info& device, const std::string& request);
  double scale() const;
  void update(bool found_inf);
  void state_save(const stc_state_writer& writer);
  void state_load(const stc_state_reader& reader);

 private:
  stc_precision* raw_ = nullptr;
};

}  // namespace stc::host
