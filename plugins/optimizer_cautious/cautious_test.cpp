#include <boost/test/unit_test.hpp>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "tests/support/optimizer_inputs.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::Value;
using stc::test::message_of;
using stc::test::Trained;
using stc::test::World;

namespace {

World& world() {
  static World world({STC_TEST_STABLE_PLUGINS});
  return world;
}

Value section(const std::string& base) {
  return Value{{"name", base}, {"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"fused", nullptr}, {"momentum", 0.9}};
}

std::vector<at::Tensor> varied(at::ScalarType type = at::kFloat) {
  return stc::test::random_tensors(21, {{1}, {17}, {33, 65}, {70000}}, type);
}

std::vector<at::Tensor> gradients_for(const std::vector<at::Tensor>& parameters, int64_t s) {
  return stc::test::random_gradients(static_cast<uint64_t>(500 + s), parameters, 0.3, 1, s % 3 == 2);
}

/// What spec says, from the base's own update: d = p - p'; p' stays where d g > 0.
void mask_by_hand(std::vector<at::Tensor>& values, const std::vector<at::Tensor>& before,
                  const std::vector<at::Tensor>& gradients) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const at::Tensor d = before[i] - values[i];
    // In double: the product of two small halves would vanish.
    const at::Tensor same_sign = (d.to(at::kDouble) * gradients[i].to(at::kDouble)).gt(0);
    values[i].copy_(at::where(same_sign, values[i], before[i]));
  }
}

/// Cautious around `base` against the base masked by hand, bit by bit.
void compare(const std::string& base, at::ScalarType type, double grad_factor) {
  const std::vector<at::Tensor> initial = varied(type);
  Trained cautious(world(), "cautious", section(base), initial);
  Trained plain(world(), base, section(base), initial);
  int64_t reverted = 0;
  for (int64_t s = 0; s < 20; ++s) {
    const auto gradients = gradients_for(initial, s);
    std::vector<at::Tensor> before, own;
    for (const at::Tensor& value : plain.values) before.push_back(value.clone());
    for (const at::Tensor& gradient : gradients) own.push_back(gradient.defined() ? gradient.clone() : gradient);
    cautious.step(gradients, 1e-2, grad_factor);
    plain.step(own, 1e-2, grad_factor);
    mask_by_hand(plain.values, before, gradients);
    for (size_t i = 0; i < initial.size(); ++i) {
      BOOST_TEST_CONTEXT(base << " step " << s << " parameter " << i) {
        BOOST_TEST(at::equal(cautious.values[i], plain.values[i]));
      }
      reverted += cautious.values[i].eq(before[i]).sum().item<int64_t>();
    }
  }
  BOOST_TEST(reverted > 1000);  // the mask did something
  BOOST_TEST((cautious.values[3] - initial[3]).abs().max().item<double>() > 1e-3);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_cautious)

BOOST_AUTO_TEST_CASE(masks_adamw_through_its_extension) {
  compare("adamw", at::kFloat, 1.0);
  compare("adamw", at::kFloat, 0.25);
  compare("adamw", at::kDouble, 1.0);
  compare("adamw", at::kBFloat16, 1.0);
}

BOOST_AUTO_TEST_CASE(masks_an_optimizer_that_knows_nothing_of_it) {
  compare("test_sgd", at::kFloat, 1.0);
  compare("test_sgd", at::kFloat, 0.25);  // this one leaves the gradient scaled
  compare("test_sgd", at::kDouble, 1.0);
  compare("test_sgd", at::kHalf, 1.0);
}

BOOST_AUTO_TEST_CASE(masks_around_parameters_that_are_not_contiguous) {
  at::manual_seed(2);
  const at::Tensor start = at::randn({6, 5}).t();
  const at::Tensor gradient = at::randn({6, 5}).t();
  const at::Tensor value = start.clone();
  BOOST_TEST(!value.is_contiguous());
  Trained cautious(Trained::Borrow(), world(), "cautious", section("test_sgd"), {value});
  Trained plain(world(), "test_sgd", section("test_sgd"), {start});
  // The second step goes against the momentum in places.
  for (const at::Tensor& g : {gradient.clone(), gradient.neg() * 0.1}) {
    const std::vector<at::Tensor> before = {plain.values[0].clone()};
    cautious.step({g.clone()}, 1e-1);
    plain.step({g.clone()}, 1e-1);
    mask_by_hand(plain.values, before, {g});
  }
  BOOST_TEST(at::equal(value, plain.values[0]));
  BOOST_TEST(!at::equal(value, start));
}

BOOST_AUTO_TEST_CASE(a_factor_of_zero_agrees_with_nothing) {
  for (const char* base : {"adamw", "test_sgd"}) {
    const std::vector<at::Tensor> initial = varied();
    Trained cautious(world(), "cautious", section(base), initial);
    cautious.step(gradients_for(initial, 0), 1e-2, 0.0);
    for (size_t i = 0; i < initial.size(); ++i) BOOST_TEST(at::equal(cautious.values[i], initial[i]));
  }
}

BOOST_AUTO_TEST_CASE(state_is_that_of_the_base) {
  const std::vector<at::Tensor> initial = varied();
  Trained cautious(world(), "cautious", section("adamw"), initial);
  for (int64_t s = 0; s < 4; ++s) cautious.step(gradients_for(initial, s));
  const auto state = cautious.save();
  BOOST_TEST(state.size() == 3 * initial.size());
  BOOST_TEST(state[0].name == "p0/exp_avg");
  Trained resumed(world(), "cautious", section("adamw"), cautious.values);
  resumed.load(state);
  Trained alone(world(), "adamw", section("adamw"), cautious.values);
  alone.load(state);  // a run may be made cautious, or no longer so
  BOOST_TEST(at::equal(alone.state("p3/exp_avg"), cautious.state("p3/exp_avg")));
  for (int64_t s = 4; s < 8; ++s) {
    cautious.step(gradients_for(initial, s));
    resumed.step(gradients_for(initial, s));
  }
  for (size_t i = 0; i < initial.size(); ++i) BOOST_TEST(at::equal(cautious.values[i], resumed.values[i]));
  cautious.optimizer.reset();
  BOOST_TEST(cautious.state("p0/step").item<int64_t>() == 0);
}

BOOST_AUTO_TEST_CASE(errors_of_the_base_come_through_with_their_key) {
  Value bad = section("adamw");
  bad["betas"] = Value::array({0.9});
  BOOST_TEST(message_of([&] { Trained(world(), "cautious", bad, {at::ones({2})}); }) ==
             "optimizer.betas: plugin adamw (optimizer): create: got 1 values, expected 2");
  BOOST_TEST(message_of([&] { Trained(world(), "cautious", section("cautious"), {at::ones({2})}); }) ==
             "optimizer.name: got cautious, which wraps another optimizer; name that one");
  Value unnamed = section("adamw");
  unnamed.erase("name");
  BOOST_TEST(message_of([&] { Trained(world(), "cautious", unnamed, {at::ones({2})}); }) ==
             "optimizer.name: is missing, it says which optimizer is made cautious");
  BOOST_TEST(message_of([&] { Trained(world(), "cautious", section("adanw"), {at::ones({2})}); }).find("adanw") !=
             std::string::npos);
  Trained good(world(), "cautious", section("adamw"), {at::ones({2})});
  BOOST_TEST(message_of([&] { good.step({at::ones({3})}); }) ==
             "plugin cautious (optimizer): step: plugin adamw: parameter p0: gradient has shape (3), expected (2)");
  Trained rigid(world(), "cautious", section("test_sgd"), {at::ones({2})});
  BOOST_TEST(message_of([&] { rigid.optimizer.set_group(0, {}); }) ==
             "plugin cautious (optimizer): set_group: optimizer test_sgd has no set_group");
}

BOOST_AUTO_TEST_SUITE_END()
