/// \file
/// Conformance of precision plugins.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "stc/testing/memory_state.hpp"
#include "stc/testing/subject.hpp"

namespace stc::testing {

using PrecisionInstance = Instance<stc_precision_api, stc_precision>;

namespace detail {

inline stc_device_info test_device(int32_t type, bool bf16, bool fp16) {
  return {STC_SIZE_TO_END(stc_device_info, memory_bytes),
          0,
          type,
          type == STC_DEVICE_CPU ? -1 : 0,
          bf16 ? 1 : 0,
          fp16 ? 1 : 0,
          2,
          0,
          0};
}

/// Scales seen while an overflow comes at every third update.
inline std::vector<double> scales(const PrecisionInstance& instance, int updates) {
  std::vector<double> seen;
  for (int i = 0; i < updates; ++i) {
    seen.push_back(instance.api().scale(instance.get()));
    instance.api().update(instance.get(), i % 3 == 2 ? 1 : 0);
  }
  return seen;
}

inline void check_plan(Report& report, const PrecisionInstance& instance, const stc_device_info& device,
                       const char* request) {
  stc_precision_plan plan{};
  plan.struct_size = STC_SIZE_TO_END(stc_precision_plan, warning);
  const SlotError error = instance.call(instance.api().resolve, &device, request, &plan);
  if (error) {
    // A plugin may refuse a request, in words.
    report.expect(!error.message.empty(), std::string("resolve ") + request + ": an error without a message");
    return;
  }
  const bool floating = plan.compute_dtype == STC_DTYPE_FLOAT32 || plan.compute_dtype == STC_DTYPE_BFLOAT16 ||
                        plan.compute_dtype == STC_DTYPE_FLOAT16 || plan.compute_dtype == STC_DTYPE_FLOAT64;
  report.expect(floating, std::string("resolve ") + request + ": compute dtype " + std::to_string(plan.compute_dtype));
  report.expect((plan.autocast | 1) == 1 && (plan.scaler | 1) == 1, "autocast and scaler are 0 or 1");
  const double scale = instance.api().scale(instance.get());
  report.expect(std::isfinite(scale) && scale > 0, "scale is " + std::to_string(scale) + ", expected > 0");
  report.expect(plan.scaler == 1 || scale == 1.0, "scale is " + std::to_string(scale) + " without a scaler");
}

}  // namespace detail

/// Every device and request resolves to a plan or an error in words; the scale is finite, positive
/// and the same function of the updates every time; state survives a save and a load.
inline Report check_precision(const Subject& subject, const Section& given = {}) {
  Report report = check_declaration(subject);
  FakeHost host;
  {
    for (int32_t type : {STC_DEVICE_CPU, STC_DEVICE_CUDA, STC_DEVICE_MPS, STC_DEVICE_OTHER}) {
      for (int support = 0; support < 4; ++support) {
        for (const char* request : {"auto", "fp32", "bf16", "fp16"}) {
          report.context("resolve");
          PrecisionInstance instance(subject, host, given);
          if (!report.expect(!instance.error(), "create: " + instance.error().message)) {
            return report;
          }
          detail::check_plan(report, instance, detail::test_device(type, (support & 1) != 0, (support & 2) != 0),
                             request);
        }
      }
    }
    report.context("update");
    PrecisionInstance first(subject, host, given), second(subject, host, given);
    const auto device = detail::test_device(STC_DEVICE_CUDA, true, true);
    stc_precision_plan plan{};
    plan.struct_size = STC_SIZE_TO_END(stc_precision_plan, warning);
    for (const PrecisionInstance* instance : {&first, &second}) {
      instance->call(instance->api().resolve, &device, "auto", &plan);
    }
    report.expect(detail::scales(first, 10) == detail::scales(second, 10), "equal updates gave different scales");

    if (first.api().state_save != nullptr) {
      report.context("state");
      MemoryState state(host);
      const SlotError saved = first.call(first.api().state_save, state.writer());
      report.expect(!saved, "state_save: " + saved.message);
      report.expect(state.repeated.empty(), "a name is written twice");
      PrecisionInstance third(subject, host, given);
      third.call(third.api().resolve, &device, "auto", &plan);
      const SlotError loaded = third.call(third.api().state_load, state.reader());
      report.expect(!loaded, "state_load: " + loaded.message);
      report.expect(detail::scales(first, 4000) == detail::scales(third, 4000),
                    "scales differ after a save and a load");
    }
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
