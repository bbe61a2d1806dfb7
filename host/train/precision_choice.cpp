#include "host/train/precision_choice.hpp"

namespace stc::host {
namespace {

PrecisionChoice fall_back(const std::string& request, const std::string& cause) {
  return {"fp32", "precision: got " + request + ", but " + cause + "; computing in fp32"};
}

PrecisionChoice choose_on_cuda(const stc_device_info& device, const std::string& request) {
  const bool bf16 = device.bf16 != 0;
  if (request == "auto") return {bf16 ? "bf16" : "fp16", ""};
  if (request == "bf16" && !bf16) return fall_back(request, "this CUDA device has no bf16 units");
  return {request, ""};
}

}  // namespace

PrecisionChoice choose_precision(const stc_device_info& device, const std::string& request) {
  const bool asks_nothing = request == "auto" || request == "fp32";
  switch (device.type) {
    case STC_DEVICE_CUDA: return choose_on_cuda(device, request);
    case STC_DEVICE_CPU:
      if (request == "bf16") return {request, ""};
      return asks_nothing ? PrecisionChoice{"fp32", ""} : fall_back(request, "fp16 needs a CUDA device");
    default:
      return asks_nothing ? PrecisionChoice{"fp32", ""}
                          : fall_back(request, "bf16 and fp16 need a CUDA device, or a CPU for bf16");
  }
}

std::string emulation_warning(const stc_device_info& device, const PrecisionPlan& plan, const std::string& model,
                              bool own_kernels) {
  if (device.type != STC_DEVICE_CPU || !plan.autocast || own_kernels) return "";
  std::string word;
  if (plan.compute_dtype == STC_DTYPE_BFLOAT16 && device.bf16 == 0) word = "bf16";
  if (plan.compute_dtype == STC_DTYPE_FLOAT16 && device.fp16 == 0) word = "fp16";
  if (word.empty()) return "";
  return "precision: this processor has no " + word + " units, and model " + model +
         " computes with LibTorch's operators, which emulate them: expect steps several times slower than in "
         "float32; set precision.mode: fp32";
}

}  // namespace stc::host
