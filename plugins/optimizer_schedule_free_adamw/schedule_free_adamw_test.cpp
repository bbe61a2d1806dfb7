#include <boost/test/unit_test.hpp>

#include <cmath>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "stc/testing/optimizer.hpp"
#include "tests/support/optimizer_inputs.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::Value;
using stc::test::copies;
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

Value section() {
  return Value{{"name", "schedule_free_adamw"}, {"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"weight_lr_power", 2.0}};
}

Trained make(const std::vector<at::Tensor>& initial) { return {world(), "schedule_free_adamw", section(), initial}; }

std::vector<at::Tensor> varied(at::ScalarType type = at::kFloat) {
  return stc::test::random_tensors(51, {{1}, {17}, {33, 65}, {4000}, {}}, type);
}

/// The third parameter has none on odd steps.
std::vector<at::Tensor> gradients_for(const std::vector<at::Tensor>& parameters, int64_t s) {
  return stc::test::random_gradients(static_cast<uint64_t>(700 + s), parameters, 1.0, 2, s % 2 == 1);
}

/// Rates with a warm-up, which weighs the first iterates less.
double rate(int64_t s) { return 1e-2 * std::min(1.0, static_cast<double>(s + 1) / 5); }

/// Algorithm 1 of the paper as it is written there, with all three sequences, in fp64.
struct Reference {
  at::Tensor x, y, z, v;
  int64_t t = 0;
  double sum = 0, largest = 0;
  explicit Reference(const at::Tensor& initial)
      : x(initial.to(at::kDouble)), y(x.clone()), z(x.clone()), v(at::zeros_like(x)) {}
  void step(const at::Tensor& gradient, double lr, double decay, double factor) {
    if (!gradient.defined()) return;
    const at::Tensor g = gradient.to(at::kDouble) * factor;
    ++t;
    largest = std::max(largest, lr);
    sum += largest * largest;
    const double c = largest * largest / sum;
    v = 0.95 * v + (1 - 0.95) * g * g;
    const at::Tensor root = (v / (1 - std::pow(0.95, static_cast<double>(t)))).sqrt() + 1e-8;
    z = z - lr * (g / root + decay * y);
    x = (1 - c) * x + c * z;
    y = (1 - 0.9) * z + 0.9 * x;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_schedule_free_adamw)

BOOST_AUTO_TEST_CASE(conforms) {
  stc::host::install_torch_services();  // the operators of namespace stc
  const auto report = stc::testing::check_optimizer(stc::testing::Subject(
      stc::test::plugin_folder() + "/stc_optimizer_schedule_free_adamw.so", STC_KIND_OPTIMIZER, "schedule_free_adamw"));
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(follows_the_paper_in_double) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    BOOST_TEST_CONTEXT(c10::toString(type)) {
      const std::vector<at::Tensor> initial = varied(type);
      Trained trained = make(initial);
      std::vector<Reference> references(initial.begin(), initial.end());
      for (int64_t s = 0; s < 30; ++s) {
        const auto gradients = gradients_for(initial, s);
        trained.step(gradients, rate(s), 0.5);
        for (size_t i = 0; i < initial.size(); ++i) references[i].step(gradients[i], rate(s), 0.1, 0.5);
      }
      // 30 roundings of values below 8; x is seen through 1 / b1.
      const double tolerance = type == at::kDouble ? 1e-13 : 2e-5;
      for (size_t i = 0; i < initial.size(); ++i) {
        BOOST_TEST(max_difference(trained.values[i], references[i].y) < tolerance);
        BOOST_TEST(max_difference(trained.values[i], initial[i]) > 2e-3);
      }
      trained.optimizer.set_mode(STC_MODE_EVAL);
      for (size_t i = 0; i < initial.size(); ++i) {
        BOOST_TEST(max_difference(trained.values[i], references[i].x) < tolerance);
      }
      BOOST_TEST(max_difference(references[3].x, references[3].y) > 1e-3);
    }
  }
}

BOOST_AUTO_TEST_CASE(comes_back_from_evaluation_with_the_same_bits) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const std::vector<at::Tensor> initial = varied(type);
    Trained trained = make(initial);
    trained.optimizer.set_mode(STC_MODE_EVAL);
    BOOST_TEST(same_bits(trained.values, initial));  // nothing to average yet
    trained.optimizer.set_mode(STC_MODE_TRAIN);
    for (int64_t s = 0; s < 5; ++s) trained.step(gradients_for(initial, s), rate(s));
    const auto y = copies(trained.values);
    for (const int mode : {STC_MODE_EVAL, STC_MODE_SAVE, STC_MODE_EVAL}) {
      trained.optimizer.set_mode(mode);
      BOOST_TEST(!same_bits(trained.values, y));
    }
    trained.optimizer.set_mode(STC_MODE_TRAIN);
    BOOST_TEST(same_bits(trained.values, y));
  }
}

BOOST_AUTO_TEST_CASE(does_not_step_from_an_average) {
  Trained trained = make({at::ones({3})});
  trained.optimizer.set_mode(STC_MODE_EVAL);
  BOOST_TEST(message_of([&] { trained.step({at::ones({3})}); }) ==
             "plugin schedule_free_adamw (optimizer): step: the parameters hold their averages, expected mode train");
}

BOOST_AUTO_TEST_CASE(goes_on_with_the_same_bits_from_saved_averages) {
  const std::vector<at::Tensor> initial = varied();
  Trained unbroken = make(initial);
  for (int64_t s = 0; s < 5; ++s) unbroken.step(gradients_for(initial, s), rate(s));
  unbroken.optimizer.set_mode(STC_MODE_SAVE);
  const auto weights = copies(unbroken.values);
  const auto state = unbroken.save();
  unbroken.optimizer.set_mode(STC_MODE_TRAIN);
  BOOST_TEST(state.size() == 6 * initial.size());
  BOOST_TEST(unbroken.save().size() == 5 * initial.size());

  Trained resumed = make(weights);  // a checkpoint's weights are the averages
  resumed.load(state);
  BOOST_TEST(same_bits(resumed.values, unbroken.values));
  for (int64_t s = 5; s < 10; ++s) {
    unbroken.step(gradients_for(initial, s), rate(s));
    resumed.step(gradients_for(initial, s), rate(s));
  }
  BOOST_TEST(same_bits(resumed.values, unbroken.values));
  BOOST_TEST(resumed.state("p2/step").item<int64_t>() == 5);
}

BOOST_AUTO_TEST_CASE(leaves_alone_what_has_no_gradient_and_decays_what_has_a_zero_one) {
  Trained trained = make({at::ones({9}), at::ones({9})});
  trained.step({at::Tensor(), at::zeros({9})}, 1e-2);
  BOOST_TEST(at::equal(trained.values[0], at::ones({9})));
  BOOST_TEST(trained.state("p0/step").item<int64_t>() == 0);
  BOOST_TEST(max_difference(trained.values[1], at::full({9}, 1 - 1e-2 * 0.1)) < 1e-7);  // the first x is z
}

BOOST_AUTO_TEST_CASE(a_reset_starts_from_the_weights_as_they_are) {
  const std::vector<at::Tensor> initial = varied();
  Trained used = make(initial);
  for (int64_t s = 0; s < 3; ++s) used.step(gradients_for(initial, s), rate(s));
  used.optimizer.reset();
  Trained fresh = make(used.values);
  for (int64_t s = 3; s < 6; ++s) {
    used.step(gradients_for(initial, s), rate(s));
    fresh.step(gradients_for(initial, s), rate(s));
  }
  BOOST_TEST(same_bits(used.values, fresh.values));
}

BOOST_AUTO_TEST_CASE(an_overflow_counts_as_no_update) {
  const std::vector<at::Tensor> initial = varied();
  Trained skipped = make(initial), never = make(initial);
  const at::Tensor overflow = at::ones({});
  stc_step_info info{};
  info.struct_size = sizeof info;
  info.lr = 1e-2;
  info.grad_factor = 1.0;
  info.found_inf = stc::host::borrow_handle(overflow);
  skipped.step(info, gradients_for(initial, 0));
  BOOST_TEST(same_bits(skipped.values, initial));
  BOOST_TEST(skipped.state("p0/step").item<int64_t>() == 0);
  for (int64_t s = 0; s < 3; ++s) {
    skipped.step(gradients_for(initial, s), rate(s));
    never.step(gradients_for(initial, s), rate(s));
  }
  BOOST_TEST(same_bits(skipped.values, never.values));
}

BOOST_AUTO_TEST_CASE(is_masked_by_cautious_and_keeps_its_modes) {
  const std::vector<at::Tensor> initial = varied();
  Trained cautious(world(), "cautious", section(), initial);
  Trained plain = make(initial);
  int64_t reverted = 0;
  for (int64_t s = 0; s < 8; ++s) {
    const auto gradients = gradients_for(initial, s);
    const auto before = copies(plain.values);
    cautious.step(gradients, rate(s), 0.5);
    plain.step(gradients, rate(s), 0.5);
    for (size_t i = 0; i < initial.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor keep = ((before[i] - plain.values[i]) * gradients[i]).gt(0);
      plain.values[i].copy_(at::where(keep, plain.values[i], before[i]));
      reverted += keep.logical_not().sum().item<int64_t>();
      BOOST_TEST(at::equal(cautious.values[i], plain.values[i]));
    }
  }
  BOOST_TEST(reverted > 1000);
  for (const int mode : {STC_MODE_EVAL, STC_MODE_TRAIN}) {
    cautious.optimizer.set_mode(mode);
    plain.optimizer.set_mode(mode);
    BOOST_TEST(same_bits(cautious.values, plain.values));
  }
}

BOOST_AUTO_TEST_CASE(names_what_it_refuses) {
  const auto refusal = [](const Value& betas) {
    Value config = section();
    config["betas"] = betas;
    return message_of([&] { Trained(world(), "schedule_free_adamw", config, {at::ones({2})}); });
  };
  BOOST_TEST(refusal(Value::array({0.9})) == "optimizer.betas: got 1 values, expected 2");
  BOOST_TEST(refusal(Value::array({0.0, 0.9})) ==
             "optimizer.betas: got 0 as the first, expected > 0: it weighs the average");
  Trained trained = make({at::ones({4})});
  BOOST_TEST(holds(message_of([&] { trained.step({at::ones({3})}); }), "gradient has shape (3), expected (4)"));
  auto state = trained.save();
  auto missing = state;
  missing.pop_back();
  BOOST_TEST(holds(message_of([&] { trained.load(missing); }), "state p0/lr_max: is missing"));
  state[0].shape = {2, 2};
  BOOST_TEST(holds(message_of([&] { trained.load(state); }), "state p0/z: got float32 (2,2), expected float32 (4)"));
}

BOOST_AUTO_TEST_SUITE_END()
