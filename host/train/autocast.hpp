/// \file
/// Autocast for the scope of a forward.
#pragma once

#include <ATen/core/Tensor.h>

#include "host/train/precision.hpp"

namespace stc::host {

/// Enters autocast of the plan's type on the device, and restores what was before.
class AutocastGuard {
 public:
  AutocastGuard(const PrecisionPlan& plan, const at::Device& device);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  bool active_;
  at::DeviceType device_;
  bool before_enabled_ = false;
  at::ScalarType before_dtype_ = at::kFloat;
};

}  // namespace stc::host
