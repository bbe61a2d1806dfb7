#include "host/train/precision.hpp"

#include <cmath>

#include "host/errors/error.hpp"

namespace stc::host {

std::string precision_word(int dtype) {
  switch (dtype) {
    case STC_DTYPE_BFLOAT16: return "bf16";
    case STC_DTYPE_FLOAT16: return "fp16";
    default: return "fp32";
  }
}

Precision::Precision(InstanceSpec spec) : Instance(std::move(spec)) {
  call("create", [&] { return api<stc_precision_api>().create(host(), section(), &raw_); });
  if (raw_ == nullptr) {
    throw PluginError("plugin " + name() + " (precision): create: returned no instance");
  }
}

Precision::~Precision() {
  if (raw_ != nullptr) api<stc_precision_api>().destroy(raw_);
}

PrecisionPlan Precision::resolve(const stc_device_info& device, const std::string& request) {
  stc_precision_plan plan{};
  plan.struct_size = sizeof(plan);
  call("resolve", [&] { return api<stc_precision_api>().resolve(raw_, &device, request.c_str(), &plan); });
  switch (plan.compute_dtype) {
    case STC_DTYPE_FLOAT32:
    case STC_DTYPE_BFLOAT16:
    case STC_DTYPE_FLOAT16:
    case STC_DTYPE_FLOAT64: break;
    default:
      throw PluginError("plugin " + name() + " (precision): resolve: compute type " +
                        std::to_string(plan.compute_dtype) + " is not a floating type of stc/abi/core.h");
  }
  return {plan.compute_dtype, plan.autocast != 0, plan.scaler != 0, plan.warning != nullptr ? plan.warning : ""};
}

double Precision::scale() const {
  const double scale = call("scale", [&] { return api<stc_precision_api>().scale(raw_); });
  if (!(scale > 0.0) || !std::isfinite(scale)) {
    throw PluginError("plugin " + name() + " (precision): scale: got " + std::to_string(scale) +
                      ", expected a finite number > 0");
  }
  return scale;
}

void Precision::update(bool found_inf) {
  call("update", [&] { api<stc_precision_api>().update(raw_, found_inf ? 1 : 0); });
}

void Precision::state_save(const stc_state_writer& writer) {
  if (api<stc_precision_api>().state_save != nullptr) {
    call("state_save", [&] { return api<stc_precision_api>().state_save(raw_, &writer); });
  }
}

void Precision::state_load(const stc_state_reader& reader) {
  if (api<stc_precision_api>().state_load != nullptr) {
    call("state_load", [&] { return api<stc_precision_api>().state_load(raw_, &reader); });
  }
}

}  // namespace stc::host
