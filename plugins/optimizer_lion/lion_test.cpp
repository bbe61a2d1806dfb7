#include <boost/test/unit_test.hpp>

#include <cmath>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "stc/testing/optimizer.hpp"
#include "tests/support/optimizer_inputs.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::Value;
using stc::test::max_difference;
using stc::test::message_of;
using stc::test::Trained;
using stc::test::World;

namespace {

World& world() {
  static World world;
  return world;
}

Value section() { return Value{{"name", "lion"}, {"betas", {0.9, 0.99}}}; }

std::vector<at::Tensor> varied(at::ScalarType type) {
  return stc::test::random_tensors(41, {{1}, {17}, {33, 65}, {4000}, {}}, type);
}

/// The third parameter has none on odd steps.
std::vector<at::Tensor> gradients_for(const std::vector<at::Tensor>& parameters, int64_t s) {
  return stc::test::random_gradients(static_cast<uint64_t>(300 + s), parameters, 1.0, 2, s % 2 == 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_lion)

BOOST_AUTO_TEST_CASE(conforms) {
  stc::host::install_torch_services();  // the operators of namespace stc
  const auto report = stc::testing::check_optimizer(
      stc::testing::Subject(stc::test::plugin_folder() + "/stc_optimizer_lion.so", STC_KIND_OPTIMIZER, "lion"));
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(follows_the_formula_in_double) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    BOOST_TEST_CONTEXT(c10::toString(type)) {
      const std::vector<at::Tensor> initial = varied(type);
      Trained trained(world(), "lion", section(), initial, {{1.0, 0.1}, {2.0, 0.0}}, {0, 1, 0, 0, 1});
      std::vector<at::Tensor> p, m;
      for (const at::Tensor& tensor : initial) {
        p.push_back(tensor.to(at::kDouble));
        m.push_back(at::zeros_like(p.back()));
      }
      for (int64_t s = 0; s < 20; ++s) {
        const auto gradients = gradients_for(initial, s);
        trained.step(gradients, 1e-2, 0.5);
        for (size_t i = 0; i < initial.size(); ++i) {
          if (!gradients[i].defined()) continue;
          const double lr = i == 1 || i == 4 ? 2e-2 : 1e-2, decay = i == 1 || i == 4 ? 0.0 : 0.1;
          const at::Tensor g = gradients[i].to(at::kDouble) * 0.5;
          const at::Tensor u = at::sign(0.9 * m[i] + (1 - 0.9) * g);
          p[i] = p[i] * (1 - lr * decay) - lr * u;
          m[i] = 0.99 * m[i] + (1 - 0.99) * g;
        }
      }
      // 20 roundings of weights below 8.
      const double tolerance = type == at::kDouble ? 1e-13 : type == at::kFloat ? 5e-6 : 20 * 0.5 * 0.03125;
      for (size_t i = 0; i < initial.size(); ++i) {
        BOOST_TEST(max_difference(trained.values[i], p[i]) < tolerance);
        BOOST_TEST(max_difference(trained.values[i], initial[i]) > 1e-2);
        BOOST_TEST(max_difference(trained.state("p" + std::to_string(i) + "/exp_avg"), m[i]) < 1e-6);
      }
      BOOST_TEST((trained.state("p1/exp_avg").scalar_type() == (type == at::kDouble ? at::kDouble : at::kFloat)));
    }
  }
}

BOOST_AUTO_TEST_CASE(leaves_alone_what_has_no_gradient_and_decays_what_has_a_zero_one) {
  Trained trained(world(), "lion", section(), {at::ones({9}), at::ones({9})});
  trained.step({at::Tensor(), at::zeros({9})}, 1e-2);
  BOOST_TEST(at::equal(trained.values[0], at::ones({9})));
  BOOST_TEST(max_difference(trained.values[1], at::full({9}, 1 - 1e-2 * 0.1)) < 1e-7);
}

BOOST_AUTO_TEST_CASE(is_masked_by_cautious_from_outside) {
  const std::vector<at::Tensor> initial = varied(at::kFloat);
  Trained cautious(world(), "cautious", section(), initial);
  Trained plain(world(), "lion", section(), initial);
  BOOST_TEST(cautious.optimizer.algorithm(0) == "lion");
  int64_t reverted = 0;
  for (int64_t s = 0; s < 10; ++s) {
    const auto gradients = gradients_for(initial, s);
    std::vector<at::Tensor> before;
    for (const at::Tensor& value : plain.values) before.push_back(value.clone());
    cautious.step(gradients, 1e-2, 0.5);
    plain.step(gradients, 1e-2, 0.5);
    for (size_t i = 0; i < initial.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor keep = ((before[i] - plain.values[i]) * gradients[i]).gt(0);
      plain.values[i].copy_(at::where(keep, plain.values[i], before[i]));
      reverted += keep.logical_not().sum().item<int64_t>();
      BOOST_TEST(at::equal(cautious.values[i], plain.values[i]));
    }
  }
  BOOST_TEST(reverted > 1000);
}

BOOST_AUTO_TEST_CASE(names_what_it_refuses) {
  Value one = section();
  one["betas"] = Value::array({0.9});
  BOOST_TEST(message_of([&] { Trained(world(), "lion", one, {at::ones({2})}); }) ==
             "optimizer.betas: got 1 values, expected 2");
  Trained trained(world(), "lion", section(), {at::ones({4})});
  BOOST_TEST(message_of([&] { trained.step({at::ones({3})}); }) ==
             "plugin lion (optimizer): step: parameter p0: gradient has shape (3), expected (4)");
  auto state = trained.save();
  state[0].shape = {2, 2};
  BOOST_TEST(message_of([&] {
               trained.load(state);
             }).find("state p0/exp_avg: got float32 (2,2), expected float32 (4)") != std::string::npos);
  state.clear();
  BOOST_TEST(message_of([&] { trained.load(state); }).find("state p0/exp_avg: is missing") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
