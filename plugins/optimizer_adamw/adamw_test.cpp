#include <boost/test/unit_test.hpp>

#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "tests/support/optimizer_inputs.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::ConfigError;
using stc::host::PluginError;
using stc::host::Value;
using stc::test::holds;
using stc::test::max_difference;
using stc::test::message_of;
using stc::test::same_bits;
using stc::test::Trained;
using stc::test::World;

namespace {

World& world() {
  static World world;
  return world;
}

Value section() { return Value{{"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"fused", nullptr}}; }

/// One element, an odd size, a matrix, many blocks.
std::vector<at::Tensor> varied(at::ScalarType type = at::kFloat) {
  return stc::test::random_tensors(11, {{1}, {17}, {33, 65}, {100000}, {}}, type);
}

/// Gradients of step s; the third parameter has none on odd steps.
std::vector<at::Tensor> gradients_for(const std::vector<at::Tensor>& parameters, int64_t s) {
  return stc::test::random_gradients(static_cast<uint64_t>(1000 + s), parameters, 0.3, 2, s % 2 == 1);
}

/// The formula of spec and paper in fp64, element by element.
struct Reference {
  std::vector<at::Tensor> p, m, v;
  std::vector<int64_t> t;
  double b1 = 0.9, b2 = 0.95, eps = 1e-8;

  explicit Reference(const std::vector<at::Tensor>& initial) {
    for (const at::Tensor& tensor : initial) {
      p.push_back(tensor.to(at::kDouble));
      m.push_back(at::zeros_like(p.back()));
      v.push_back(at::zeros_like(p.back()));
      t.push_back(0);
    }
  }
  void step(size_t i, const at::Tensor& gradient, double lr, double decay, double factor) {
    if (!gradient.defined()) return;
    const at::Tensor g = gradient.to(at::kDouble) * factor;
    ++t[i];
    p[i] = p[i] * (1 - lr * decay);
    m[i] = b1 * m[i] + (1 - b1) * g;
    v[i] = b2 * v[i] + (1 - b2) * g * g;
    const double c1 = 1 - std::pow(b1, static_cast<double>(t[i]));
    const double c2 = 1 - std::pow(b2, static_cast<double>(t[i]));
    p[i] = p[i] - lr / c1 * m[i] / (v[i].sqrt() / std::sqrt(c2) + eps);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_adamw)

BOOST_AUTO_TEST_CASE(follows_the_formula_in_double_over_50_steps) {
  const std::vector<at::Tensor> initial = varied();
  // Two groups: the second one at twice the rate and without decay.
  Trained trained(world(), "adamw", section(), initial, {{1.0, 0.1}, {2.0, 0.0}}, {0, 1, 0, 0, 1});
  Reference reference(initial);
  for (int64_t s = 0; s < 50; ++s) {
    const auto gradients = gradients_for(initial, s);
    const double lr = 1e-3 / static_cast<double>(1 + s % 3);
    trained.step(gradients, lr, 0.5);
    for (size_t i = 0; i < initial.size(); ++i) {
      const bool second = i == 1 || i == 4;
      reference.step(i, gradients[i], second ? 2 * lr : lr, second ? 0.0 : 0.1, 0.5);
    }
  }
  for (size_t i = 0; i < initial.size(); ++i) {
    BOOST_TEST_CONTEXT("parameter " << i) {
      // 50 roundings of values up to 8, half a unit (2.4e-7) each.
      BOOST_TEST(max_difference(trained.values[i], reference.p[i]) < 1.2e-5);
      BOOST_TEST(max_difference(trained.values[i], initial[i]) > 5e-3);  // it did move
      const std::string name = "p" + std::to_string(i);
      BOOST_TEST(max_difference(trained.state(name + "/exp_avg"), reference.m[i]) < 1e-6);
      BOOST_TEST(max_difference(trained.state(name + "/exp_avg_sq"), reference.v[i]) < 1e-6);
      BOOST_TEST(trained.state(name + "/step").item<int64_t>() == reference.t[i]);
    }
  }
  BOOST_TEST(reference.t[2] == 25);
}

BOOST_AUTO_TEST_CASE(agrees_with_the_fused_operator_of_libtorch_over_50_steps) {
  const std::vector<at::Tensor> initial = varied();
  Trained trained(world(), "adamw", section(), initial);
  std::vector<at::Tensor> p, m, v, counts;
  for (const at::Tensor& tensor : initial) {
    p.push_back(tensor.clone());
    m.push_back(at::zeros_like(tensor));
    v.push_back(at::zeros_like(tensor));
    counts.push_back(at::zeros({}));
  }
  for (int64_t s = 0; s < 50; ++s) {
    std::vector<at::Tensor> gradients = gradients_for(initial, 2 * s);
    trained.step(gradients);
    for (at::Tensor& count : counts) count += 1;
    at::_fused_adamw_(p, gradients, m, v, {}, counts, 1e-3, 0.9, 0.95, 0.1, 1e-8, false, false);
  }
  for (size_t i = 0; i < initial.size(); ++i) BOOST_TEST(max_difference(trained.values[i], p[i]) < 2e-6);
}

BOOST_AUTO_TEST_CASE(leaves_alone_what_has_no_gradient_and_decays_what_has_a_zero_one) {
  const std::vector<at::Tensor> initial = {at::ones({40}), at::ones({40})};
  Trained trained(world(), "adamw", section(), initial);
  trained.step({at::Tensor(), at::zeros({40})}, 1e-2);
  BOOST_TEST(at::equal(trained.values[0], initial[0]));
  BOOST_TEST(trained.state("p0/step").item<int64_t>() == 0);
  BOOST_TEST(max_difference(trained.values[1], at::full({40}, 1 - 1e-2 * 0.1)) < 1e-7);
  BOOST_TEST(trained.state("p1/step").item<int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(goes_on_with_the_same_bits_after_save_and_load) {
  const std::vector<at::Tensor> initial = varied();
  Trained unbroken(world(), "adamw", section(), initial);
  for (int64_t s = 0; s < 5; ++s) unbroken.step(gradients_for(initial, s));
  const auto state = unbroken.save();
  Trained resumed(world(), "adamw", section(), unbroken.values);
  resumed.load(state);
  for (int64_t s = 5; s < 12; ++s) {
    unbroken.step(gradients_for(initial, s));
    resumed.step(gradients_for(initial, s));
  }
  BOOST_TEST(same_bits(unbroken.values, resumed.values));
  for (const char* name : {"p3/exp_avg", "p3/exp_avg_sq", "p2/step"}) {
    BOOST_TEST(at::equal(unbroken.state(name), resumed.state(name)));
  }
}

BOOST_AUTO_TEST_CASE(bits_depend_neither_on_the_number_of_threads_nor_on_the_kernel) {
  const std::vector<at::Tensor> initial = varied();
  const int before = at::get_num_threads();
  std::vector<std::vector<at::Tensor>> results;
  Value plain = section();
  plain["fused"] = false;
  for (const auto& [threads, config] : {std::pair(1, section()), std::pair(2, section()), std::pair(2, plain)}) {
    at::set_num_threads(threads);
    Trained trained(world(), "adamw", config, initial);
    for (int64_t s = 0; s < 10; ++s) trained.step(gradients_for(initial, s), 1e-3, 0.7);
    results.push_back(trained.values);
  }
  at::set_num_threads(before);
  BOOST_TEST(same_bits(results[0], results[1]));
  BOOST_TEST(same_bits(results[0], results[2]));
}

BOOST_AUTO_TEST_CASE(takes_double_and_half_parameters) {
  struct Case {
    at::ScalarType type;
    double tolerance;
  };
  // A half parameter is rounded once a step: 20 steps of half a unit in the last place of values up to 8.
  for (const Case& c : {Case{at::kDouble, 1e-12}, Case{at::kHalf, 4e-2}, Case{at::kBFloat16, 3.2e-1}}) {
    BOOST_TEST_CONTEXT(c10::toString(c.type)) {
      const std::vector<at::Tensor> initial = varied(c.type);
      Trained trained(world(), "adamw", section(), initial);
      Reference reference(initial);
      for (int64_t s = 0; s < 20; ++s) {
        const auto gradients = gradients_for(initial, s);
        trained.step(gradients, 1e-2);
        for (size_t i = 0; i < initial.size(); ++i) reference.step(i, gradients[i], 1e-2, 0.1, 1.0);
      }
      for (size_t i = 0; i < initial.size(); ++i) {
        BOOST_TEST(max_difference(trained.values[i], reference.p[i]) < c.tolerance);
      }
      BOOST_TEST(max_difference(trained.values[3], initial[3]) > 5e-2);
      BOOST_TEST((trained.state("p3/exp_avg").scalar_type() == (c.type == at::kDouble ? at::kDouble : at::kFloat)));
    }
  }
}

BOOST_AUTO_TEST_CASE(reset_forgets_moments_and_counts) {
  const std::vector<at::Tensor> initial = varied();
  Trained used(world(), "adamw", section(), initial);
  for (int64_t s = 0; s < 3; ++s) used.step(gradients_for(initial, s));
  used.optimizer.reset();
  Trained fresh(world(), "adamw", section(), used.values);
  used.step(gradients_for(initial, 4));
  fresh.step(gradients_for(initial, 4));
  BOOST_TEST(same_bits(used.values, fresh.values));
}

BOOST_AUTO_TEST_CASE(reads_strided_gradients_by_value) {
  at::manual_seed(3);
  const at::Tensor initial = at::randn({30, 50});
  const at::Tensor transposed = at::randn({50, 30}).t();
  const at::Tensor expanded = at::randn({30, 1}).expand({30, 50});
  Trained strided(world(), "adamw", section(), {initial, initial});
  Trained dense(world(), "adamw", section(), {initial, initial});
  BOOST_TEST(!transposed.is_contiguous());
  strided.step({transposed, expanded});
  dense.step({transposed.contiguous(), expanded.contiguous()});
  BOOST_TEST(same_bits(strided.values, dense.values));
}

BOOST_AUTO_TEST_CASE(obeys_tensors_of_factor_and_overflow) {
  const std::vector<at::Tensor> initial = varied();
  const auto gradients = gradients_for(initial, 0);
  Trained by_number(world(), "adamw", section(), initial);
  Trained by_tensor(world(), "adamw", section(), initial);
  by_number.step(gradients, 1e-3, 0.25);
  const at::Tensor factor = at::full({}, 0.25);
  const at::Tensor overflow = at::ones({});
  const at::Tensor no_overflow = at::zeros({});
  stc_step_info info{};
  info.struct_size = sizeof info;
  info.lr = 1e-3;
  info.grad_factor = 1.0;
  info.grad_factor_t = stc::host::borrow_handle(factor);
  info.found_inf = stc::host::borrow_handle(overflow);
  by_tensor.step(info, gradients);
  BOOST_TEST(same_bits(by_tensor.values, initial));
  BOOST_TEST(by_tensor.state("p0/step").item<int64_t>() == 0);
  info.found_inf = stc::host::borrow_handle(no_overflow);
  by_tensor.step(info, gradients);
  BOOST_TEST(same_bits(by_tensor.values, by_number.values));
}

BOOST_AUTO_TEST_CASE(refuses_gradients_unlike_their_parameter_and_changes_nothing) {
  const std::vector<at::Tensor> initial = {at::ones({4, 3}), at::ones({5})};
  Trained trained(world(), "adamw", section(), initial);
  const auto refusal = [&](const at::Tensor& second) {
    return message_of([&] { trained.step({at::ones({4, 3}), second}); });
  };
  BOOST_TEST(refusal(at::ones({1, 5})) ==
             "plugin adamw (optimizer): step: parameter p1: gradient has shape (1,5), expected (5)");
  BOOST_TEST(refusal(at::ones({5}, at::kDouble)) ==
             "plugin adamw (optimizer): step: parameter p1: gradient has dtype float64, expected float32");
  BOOST_TEST(holds(refusal(at::ones({5}).to_sparse()), "parameter p1: gradient: tensor_info: layout sparse"));
  BOOST_TEST(
      holds(refusal(at::ones({5}, at::kComplexFloat)), "parameter p1: gradient: tensor_info: dtype ComplexFloat"));
  BOOST_TEST(same_bits(trained.values, initial));
  BOOST_TEST(trained.state("p0/step").item<int64_t>() == 0);
}

BOOST_AUTO_TEST_CASE(refuses_parameters_that_it_cannot_update) {
  const auto refusal = [&](std::vector<at::Tensor> tensors) {
    return message_of([&] { Trained(Trained::Borrow(), world(), "adamw", section(), std::move(tensors)); });
  };
  const at::Tensor block = at::ones({20});
  BOOST_TEST(holds(refusal({at::ones({4, 3}).t()}), "parameter p0: is not contiguous"));
  BOOST_TEST(holds(refusal({at::ones({4}, at::kInt)}), "parameter p0: got dtype int32"));
  BOOST_TEST(holds(refusal({block.narrow(0, 0, 12), block.narrow(0, 8, 12)}), "parameter p1: shares memory with p0"));
  BOOST_TEST(refusal({block.narrow(0, 0, 10), block.narrow(0, 10, 10)}) == "nothing was thrown");
}

BOOST_AUTO_TEST_CASE(is_bound_once_and_knows_its_groups) {
  const at::Tensor tensor = at::ones({2});
  Trained trained(world(), "adamw", section(), {tensor});
  stc::host::ModelParameter more;
  more.name = "more";
  more.tensor = stc::host::borrow_handle(tensor);
  BOOST_TEST(message_of([&] { trained.optimizer.bind({&more}, {0}, {{}}); }) ==
             "plugin adamw (optimizer): bind: bind: called twice");
  BOOST_TEST(message_of([&] { trained.optimizer.set_group(1, {}); }) ==
             "plugin adamw (optimizer): set_group: set_group: got index 1, there are 1 groups");
}

BOOST_AUTO_TEST_CASE(names_the_key_of_a_bad_setting) {
  Value one = section();
  one["betas"] = Value::array({0.9});
  BOOST_TEST(message_of([&] { Trained(world(), "adamw", one, {at::ones({2})}); }) ==
             "optimizer.betas: got 1 values, expected 2");
  Value high = section();
  high["betas"] = Value::array({0.9, 1.0});
  BOOST_CHECK_THROW(Trained(world(), "adamw", high, {at::ones({2})}), ConfigError);
  Value eps = section();
  eps["eps"] = 0.0;
  BOOST_CHECK_THROW(Trained(world(), "adamw", eps, {at::ones({2})}), ConfigError);
}

BOOST_AUTO_TEST_CASE(refuses_a_state_that_is_not_its_own_and_keeps_what_it_has) {
  const std::vector<at::Tensor> initial = {at::ones({4}), at::ones({3})};
  Trained trained(world(), "adamw", section(), initial);
  trained.step({at::ones({4}), at::ones({3})});
  auto state = trained.save();
  const at::Tensor before = trained.state("p0/exp_avg");
  auto missing = state;
  missing.pop_back();
  BOOST_TEST(holds(message_of([&] { trained.load(missing); }), "state p1/step: is missing"));
  auto resized = state;
  for (auto& tensor : resized) {
    if (tensor.name == "p1/exp_avg") tensor.shape = {1, 3};
  }
  BOOST_TEST(
      holds(message_of([&] { trained.load(resized); }), "state p1/exp_avg: got float32 (1,3), expected float32 (3)"));
  BOOST_TEST(at::equal(trained.state("p0/exp_avg"), before));
}

BOOST_AUTO_TEST_SUITE_END()
