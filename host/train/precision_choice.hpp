/// \file
/// Which precision plugin a request gets on a device.
#pragma once

#include <string>

#include "host/train/precision.hpp"
#include "stc/abi/host.h"

namespace stc::host {

struct PrecisionChoice {
  std::string plugin;   // "fp32", "bf16" or "fp16"
  std::string warning;  // why a request got another type; empty: it did not
};

/// \param request "auto", "fp32", "bf16" or "fp16"
///
/// | device | request | choice |
/// |---|---|---|
/// | cuda | auto | bf16 where the device has it, else fp16 |
/// | cuda | bf16 | bf16 where the device has it, else fp32 |
/// | cuda | fp16, fp32 | as asked |
/// | cpu | bf16 | bf16 |
/// | cpu | auto, fp32, fp16 | fp32 |
/// | mps, others | anything | fp32 |
PrecisionChoice choose_precision(const stc_device_info& device, const std::string& request);

/// The line to log where the forward of a model is computed by LibTorch's emulated kernels: under autocast on a
/// processor without units for the type. Empty: it is not.
/// \param own_kernels the model says that it computes the type with kernels of its own
std::string emulation_warning(const stc_device_info& device, const PrecisionPlan& plan, const std::string& model,
                              bool own_kernels);

}  // namespace stc::host
