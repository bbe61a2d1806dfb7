#include <boost/test/unit_test.hpp>

#include "stc/testing/precision.hpp"

using stc::testing::FakeHost;
using stc::testing::PrecisionInstance;
using stc::testing::Subject;

namespace {

const Subject& fp32() {
  static const Subject subject(&stc_plugin_entry_v1, STC_KIND_PRECISION, "fp32");
  return subject;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(precision_fp32)

BOOST_AUTO_TEST_CASE(conforms) {
  const auto report = stc::testing::check_precision(fp32());
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(computes_in_float32_on_every_device_and_request) {
  FakeHost host;
  PrecisionInstance precision(fp32(), host, {});
  for (int32_t device : {STC_DEVICE_CPU, STC_DEVICE_CUDA, STC_DEVICE_MPS}) {
    for (const char* request : {"auto", "fp32", "bf16", "fp16"}) {
      BOOST_TEST_CONTEXT("device=" << device << " request=" << request) {
        const auto info = stc::testing::detail::test_device(device, true, true);
        stc_precision_plan plan{};
        plan.struct_size = sizeof plan;
        BOOST_TEST(!precision.call(precision.api().resolve, &info, request, &plan));
        BOOST_TEST(plan.compute_dtype == STC_DTYPE_FLOAT32);
        BOOST_TEST(plan.autocast == 0);
        BOOST_TEST(plan.scaler == 0);
        const std::string word = request;
        const bool warns = plan.warning != nullptr;
        BOOST_TEST(warns == (word == "bf16" || word == "fp16"));
        if (warns) {
          BOOST_TEST(plan.warning == "got " + word + ", precision fp32 computes in float32");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scale_stays_one_after_an_overflow) {
  FakeHost host;
  PrecisionInstance precision(fp32(), host, {});
  precision.api().update(precision.get(), 1);
  BOOST_TEST(precision.api().scale(precision.get()) == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
