#include <boost/test/unit_test.hpp>

#include "stc/testing/precision.hpp"

using stc::testing::FakeHost;
using stc::testing::PrecisionInstance;
using stc::testing::Subject;

namespace {

const Subject& bf16() {
  static const Subject subject(&stc_plugin_entry_v1, STC_KIND_PRECISION, "bf16");
  return subject;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(precision_bf16)

BOOST_AUTO_TEST_CASE(conforms) {
  const auto report = stc::testing::check_precision(bf16());
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(computes_under_autocast_without_a_scaler_where_the_device_can) {
  FakeHost host;
  PrecisionInstance precision(bf16(), host, {});
  for (const int32_t type : {STC_DEVICE_CPU, STC_DEVICE_CUDA, STC_DEVICE_MPS, STC_DEVICE_OTHER}) {
    for (const bool units : {false, true}) {
      BOOST_TEST_CONTEXT("device " << type << " units " << units) {
        const auto device = stc::testing::detail::test_device(type, units, true);
        stc_precision_plan plan{};
        plan.struct_size = sizeof plan;
        const auto error = precision.call(precision.api().resolve, &device, "bf16", &plan);
        const bool able = type == STC_DEVICE_CPU || (type == STC_DEVICE_CUDA && units);
        BOOST_TEST(!error == able);
        if (able) {
          BOOST_TEST(plan.compute_dtype == STC_DTYPE_BFLOAT16);
          BOOST_TEST(plan.autocast == 1);
          BOOST_TEST(plan.scaler == 0);
          BOOST_TEST(plan.warning == nullptr);
        } else {
          BOOST_TEST(error.code == STC_ERROR_UNSUPPORTED);
          BOOST_TEST(error.message == "bf16 needs a CPU, or a CUDA device with bf16 units");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scale_stays_one_after_an_overflow) {
  FakeHost host;
  PrecisionInstance precision(bf16(), host, {});
  precision.api().update(precision.get(), 1);
  BOOST_TEST(precision.api().scale(precision.get()) == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
