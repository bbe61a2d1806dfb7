#include <limits>

#include <boost/test/unit_test.hpp>

#include "loss_scale.hpp"
#include "stc/testing/memory_state.hpp"
#include "stc/testing/precision.hpp"

using stc::precision_fp16::LossScale;
using stc::precision_fp16::LossScaleParams;
using stc::testing::FakeHost;
using stc::testing::PrecisionInstance;
using stc::testing::Subject;

namespace {

const Subject& fp16() {
  static const Subject subject(&stc_plugin_entry_v1, STC_KIND_PRECISION, "fp16");
  return subject;
}

void update(LossScale& scale, int times, bool found_inf) {
  for (int i = 0; i < times; ++i) scale.update(found_inf);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(precision_fp16)

BOOST_AUTO_TEST_CASE(conforms) {
  const auto report = stc::testing::check_precision(fp16());
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(computes_with_a_scaler_on_cuda_alone) {
  FakeHost host;
  PrecisionInstance precision(fp16(), host, {});
  for (const int32_t type : {STC_DEVICE_CPU, STC_DEVICE_CUDA, STC_DEVICE_MPS, STC_DEVICE_OTHER}) {
    BOOST_TEST_CONTEXT("device " << type) {
      const auto device = stc::testing::detail::test_device(type, true, true);
      stc_precision_plan plan{};
      plan.struct_size = sizeof plan;
      const auto error = precision.call(precision.api().resolve, &device, "fp16", &plan);
      BOOST_TEST(!error == (type == STC_DEVICE_CUDA));
      if (type == STC_DEVICE_CUDA) {
        BOOST_TEST(plan.compute_dtype == STC_DTYPE_FLOAT16);
        BOOST_TEST(plan.autocast == 1);
        BOOST_TEST(plan.scaler == 1);
      } else {
        BOOST_TEST(error.message == "fp16 needs a CUDA device");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_scale_doubles_after_2000_good_updates_and_halves_at_an_overflow) {
  LossScale scale{LossScaleParams{}};
  BOOST_TEST(scale.scale() == 65536.0);
  update(scale, 1999, false);
  BOOST_TEST(scale.scale() == 65536.0);
  scale.update(false);
  BOOST_TEST(scale.scale() == 131072.0);
  update(scale, 1999, false);
  scale.update(true);
  BOOST_TEST(scale.scale() == 65536.0);
  // An overflow starts the count anew.
  update(scale, 1999, false);
  BOOST_TEST(scale.scale() == 65536.0);
  scale.update(false);
  BOOST_TEST(scale.scale() == 131072.0);
}

BOOST_AUTO_TEST_CASE(the_scale_stays_a_normal_float_whatever_comes) {
  LossScaleParams params;
  params.growth_interval = 1;
  params.growth_factor = 1e10;
  LossScale up(params);
  update(up, 50, false);
  BOOST_TEST(up.scale() > 1e20);
  BOOST_TEST(up.scale() <= std::numeric_limits<float>::max());
  LossScale down{LossScaleParams{}};
  update(down, 5000, true);
  BOOST_TEST(down.scale() == std::numeric_limits<float>::min());
}

BOOST_AUTO_TEST_CASE(keys_of_the_section_set_the_scale) {
  FakeHost host;
  PrecisionInstance precision(
      fp16(), host, {{"init_scale", 8.0}, {"growth_factor", 4.0}, {"backoff_factor", 0.25}, {"growth_interval", 2}});
  const auto scale = [&] { return precision.api().scale(precision.get()); };
  BOOST_TEST(scale() == 8.0);
  precision.api().update(precision.get(), 0);
  precision.api().update(precision.get(), 0);
  BOOST_TEST(scale() == 32.0);
  precision.api().update(precision.get(), 1);
  BOOST_TEST(scale() == 8.0);
}

BOOST_AUTO_TEST_CASE(scale_and_count_are_saved_by_name_and_restored) {
  FakeHost host;
  PrecisionInstance first(fp16(), host, {});
  for (int i = 0; i < 3; ++i) first.api().update(first.get(), 1);
  for (int i = 0; i < 1999; ++i) first.api().update(first.get(), 0);
  stc::testing::MemoryState state(host);
  BOOST_TEST(!first.call(first.api().state_save, state.writer()));
  PrecisionInstance second(fp16(), host, {});
  BOOST_TEST(!second.call(second.api().state_load, state.reader()));
  BOOST_TEST(second.api().scale(second.get()) == 8192.0);
  second.api().update(second.get(), 0);
  BOOST_TEST(second.api().scale(second.get()) == 16384.0);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_precision_leaves_the_scale_at_its_start) {
  FakeHost host;
  PrecisionInstance precision(fp16(), host, {});
  precision.api().update(precision.get(), 1);
  stc::testing::MemoryState nothing(host);
  BOOST_TEST(!precision.call(precision.api().state_load, nothing.reader()));
  BOOST_TEST(precision.api().scale(precision.get()) == 65536.0);
}

BOOST_AUTO_TEST_SUITE_END()
