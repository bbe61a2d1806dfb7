// Optimizers and precisions that break their contract, and a host that would break theirs.
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"
#include "tests/host/train/broken_tables.hpp"

namespace stc::host {
namespace {

using test::BrokenOptimizer;
using test::BrokenPrecision;
using test::thrown_text;

BOOST_AUTO_TEST_SUITE(optimizer_errors)

BOOST_AUTO_TEST_CASE(a_create_without_an_instance_is_refused) {
  stc_optimizer_api api = test::plain_optimizer_table();
  api.create = &test::give_nothing;
  BrokenOptimizer broken(api);
  BOOST_TEST(thrown_text<PluginError>([&] { broken.make(); }) ==
             "plugin broken (optimizer): create: returned no instance");
}

BOOST_AUTO_TEST_CASE(a_group_without_set_group_cannot_change) {
  BrokenOptimizer broken(test::plain_optimizer_table());
  Optimizer optimizer = broken.make();
  BOOST_TEST(thrown_text<PluginError>([&] { optimizer.set_group(0, {}); }) ==
             "plugin broken (optimizer): has no set_group, so the rate of a group cannot change");
}

BOOST_AUTO_TEST_CASE(a_binding_that_does_not_fit_itself_never_reaches_the_plugin) {
  BrokenOptimizer broken(test::plain_optimizer_table());
  Optimizer optimizer = broken.make();
  const at::Tensor weight = at::ones({2});
  ModelParameter parameter;
  parameter.name = "w";
  parameter.tensor = borrow_handle(weight);
  const std::vector<const ModelParameter*> one = {&parameter};
  const std::vector<OptimizerGroup> groups(2);
  BOOST_TEST(thrown_text<TrainError>([&] { optimizer.bind(one, {2}, groups); }) ==
             "optimizer: parameter w is in group 2 of 2");
  optimizer.bind(one, {1}, groups);
  BOOST_TEST(thrown_text<TrainError>([&] {
               optimizer.step({}, {nullptr, nullptr});
             }) == "optimizer: step got 2 gradients for 1 bound parameters");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(precision_errors)

BOOST_AUTO_TEST_CASE(a_create_without_an_instance_is_refused) {
  stc_precision_api api = test::plain_precision_table();
  api.create = &test::give_nothing;
  BrokenPrecision broken(api);
  BOOST_TEST(thrown_text<PluginError>([&] { broken.make(); }) ==
             "plugin broken (precision): create: returned no instance");
}

BOOST_AUTO_TEST_CASE(a_compute_type_that_is_none_is_refused) {
  stc_precision_api api = test::plain_precision_table();
  api.resolve = [](stc_precision*, const stc_device_info*, const char*, stc_precision_plan* out) -> stc_error* {
    out->compute_dtype = STC_DTYPE_INT64;
    return nullptr;
  };
  BrokenPrecision broken(api);
  Precision precision = broken.make();
  BOOST_TEST(thrown_text<PluginError>([&] { precision.resolve({}, "auto"); }) ==
             "plugin broken (precision): resolve: compute type " + std::to_string(STC_DTYPE_INT64) +
                 " is not a floating type of stc/abi/core.h");
}

BOOST_AUTO_TEST_CASE(a_loss_scale_that_is_no_scale_is_refused) {
  stc_precision_api api = test::plain_precision_table();
  api.scale = [](stc_precision*) { return -2.0; };
  BrokenPrecision broken(api);
  const Precision precision = broken.make();
  BOOST_TEST(thrown_text<PluginError>([&] { precision.scale(); }) ==
             "plugin broken (precision): scale: got -2.000000, expected a finite number > 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
