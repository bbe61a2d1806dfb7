#include "host/checkpoint/compare.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

LoadedCheckpoint loaded(Snapshot snapshot) {
  LoadedCheckpoint out;
  out.path = "step_" + std::to_string(snapshot.step);
  out.step = snapshot.step;
  out.run_id = "run-a";
  out.version = "1.2.3";
  out.model = std::move(snapshot.model);
  out.optimizer = std::move(snapshot.optimizer);
  out.state = std::move(snapshot.state);
  return out;
}

/// The one difference of two checkpoints whose first model tensor is a and b.
Value tensor_difference(HostTensor a, HostTensor b) {
  LoadedCheckpoint left = loaded(make_snapshot(1)), right = loaded(make_snapshot(1));
  left.model[0] = std::move(a);
  right.model[0] = std::move(b);
  const Value out = compare_checkpoints(left, right);
  BOOST_REQUIRE(out["values"].empty());
  BOOST_REQUIRE_EQUAL(out["tensors"].size(), 1u);
  return out["tensors"][0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(compare)

BOOST_AUTO_TEST_CASE(equal_checkpoints_have_no_difference) {
  const Value out = compare_checkpoints(loaded(make_snapshot(3)), loaded(make_snapshot(3)));
  BOOST_TEST(out["equal"] == true);
  BOOST_TEST(comparison_text(out).find("equal: every value") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_are_named_by_their_path) {
  LoadedCheckpoint a = loaded(make_snapshot(3)), b = loaded(make_snapshot(3));
  b.run_id = "run-b";
  a.state["run_id"] = "run-a";  // told once
  b.state["run_id"] = "run-b";
  b.state["config"]["run"]["name"] = "u";
  b.state["extra"] = 1;
  const Value out = compare_checkpoints(a, b);
  BOOST_TEST(out["equal"] == false);
  BOOST_TEST(
      out["values"].dump() ==
      R"([{"key":"run_id","a":"run-a","b":"run-b"},{"key":"config.run.name","a":"t","b":"u"},{"key":"extra","a":null,"b":1}])");
  BOOST_TEST(comparison_text(out).find("  config.run.name: A \"t\", B \"u\"\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tensors_tell_how_many_elements_differ_and_by_how_much) {
  const Value out = compare_checkpoints(loaded(make_snapshot(1)), loaded(make_snapshot(2)));
  BOOST_TEST(out["tensors"][0].dump() ==
             R"({"what":"values","elements":4,"of":4,"max_difference":1.0,"part":"model","name":"wte.weight"})");
  BOOST_TEST(out["tensors"][1]["elements"] == 2);  // exp_avg: its first and last
}

BOOST_AUTO_TEST_CASE(every_type_is_read_as_what_it_is) {
  const auto difference = [](int dtype, auto a, auto b) {
    using T = decltype(a);
    return tensor_difference(make_tensor<T>("wte.weight", dtype, {1}, {a}),
                             make_tensor<T>("wte.weight", dtype, {1}, {b}))["max_difference"]
        .template get<double>();
  };
  BOOST_TEST(difference(STC_DTYPE_FLOAT64, 1.0, 1.25) == 0.25);
  BOOST_TEST(difference(STC_DTYPE_FLOAT32, 1.0F, -1.0F) == 2.0);
  BOOST_TEST(difference(STC_DTYPE_BFLOAT16, uint16_t{0x3f80}, uint16_t{0x4000}) == 1.0);  // 1 and 2
  BOOST_TEST(difference(STC_DTYPE_FLOAT16, uint16_t{0x3c00}, uint16_t{0x3800}) == 0.5);   // 1 and 0.5
  BOOST_TEST(difference(STC_DTYPE_FLOAT16, uint16_t{0x0001}, uint16_t{0x0000}) == std::ldexp(1.0, -24));
  BOOST_TEST(difference(STC_DTYPE_INT64, int64_t{-3}, int64_t{4}) == 7.0);
  BOOST_TEST(difference(STC_DTYPE_UINT8, uint8_t{250}, uint8_t{5}) == 245.0);
}

BOOST_AUTO_TEST_CASE(a_difference_without_a_number_is_null) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Value out = tensor_difference(make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2}, {nan, 1.0F}),
                                      make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2}, {0.0F, 1.0F}));
  BOOST_TEST(out["elements"] == 1);
  BOOST_TEST(out["max_difference"].is_null());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_compared_says_why) {
  const HostTensor two = make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2}, {1, 2});
  const HostTensor turned = make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2, 1}, {1, 2});
  BOOST_TEST(tensor_difference(two, turned)["what"] == "shape or type");
  LoadedCheckpoint a = loaded(make_snapshot(1)), b = loaded(make_snapshot(1));
  b.ema.push_back(two);
  const Value out = compare_checkpoints(a, b);
  BOOST_TEST(out["tensors"].dump() == R"([{"what":"only in B","part":"ema","name":"wte.weight"}])");
}

BOOST_AUTO_TEST_SUITE_END()
