#include <boost/test/unit_test.hpp>

#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "stc/testing/optimizer.hpp"
#include "tests/support/optimizer_inputs.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::ConfigError;
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

Value section() {
  return Value{{"name", "muon"},        {"betas", {0.9, 0.95}},  {"eps", 1e-8},
               {"fused", nullptr},      {"muon_momentum", 0.95}, {"muon_ns_steps", 5},
               {"muon_nesterov", true}, {"muon_plus", false},    {"muon_norm_eps", 1e-8}};
}

/// Small and large enough to be worth threads, wide, tall, square, equal shapes; then what goes to AdamW.
const std::vector<std::vector<int64_t>> kShapes = {{48, 32}, {32, 48}, {64, 64}, {160, 176}, {400, 130},
                                                   {64, 64}, {1, 7},   {17},     {40, 8},    {3, 2, 2}};
const std::vector<int> kRoles = {STC_ROLE_LINEAR,    STC_ROLE_LINEAR,     STC_ROLE_LINEAR, STC_ROLE_LINEAR,
                                 STC_ROLE_LINEAR,    STC_ROLE_FORCE_MUON, STC_ROLE_LINEAR, STC_ROLE_NORM,
                                 STC_ROLE_EMBEDDING, STC_ROLE_FORCE_MUON};
constexpr size_t kMatrices = 7;

std::vector<at::Tensor> varied(at::ScalarType type = at::kFloat) {
  return stc::test::random_tensors(31, kShapes, type, 0.1);
}

/// Gradients of step s; the third parameter has none on odd steps.
std::vector<at::Tensor> gradients_for(const std::vector<at::Tensor>& parameters, int64_t s) {
  return stc::test::random_gradients(static_cast<uint64_t>(2000 + s), parameters, 0.3, 2, s % 2 == 1);
}

Trained make(const Value& config, const std::vector<at::Tensor>& initial, const std::string& name = "muon") {
  return Trained(world(), name, config, initial, {{1.0, 0.1}}, {}, kRoles);
}

/// The quintic iteration in fp64, one matrix at a time and by plain products.
at::Tensor newton_schulz(const at::Tensor& m, int64_t steps) {
  const bool transposed = m.size(0) > m.size(1);
  at::Tensor x = (transposed ? m.t() : m).to(at::kDouble);
  x = x / (std::sqrt(x.square().sum().item<double>()) + 1e-7);
  for (int64_t s = 0; s < steps; ++s) {
    const at::Tensor a = at::matmul(x, x.t());
    x = 3.4445 * x + at::matmul(-4.7750 * a + 2.0315 * at::matmul(a, a), x);
  }
  return transposed ? x.t() : x;
}

/// One matrix by the formula in fp64.
struct Reference {
  at::Tensor p, b;
  double mu = 0.95;
  int64_t steps = 5;
  bool nesterov = true, plus = false;

  explicit Reference(const at::Tensor& initial) : p(initial.to(at::kDouble)), b(at::zeros_like(p)) {}
  void step(const at::Tensor& gradient, double lr, double decay, double factor) {
    if (!gradient.defined()) return;
    const at::Tensor g = gradient.to(at::kDouble) * factor;
    b = mu * b + (1 - mu) * g;
    at::Tensor u = newton_schulz(nesterov ? g + mu * (b - g) : b, steps);
    if (plus) {
      u = u / (u.square().sum(at::IntArrayRef{1}, true) + 1e-8).sqrt();
      u = u / (u.square().sum(at::IntArrayRef{0}, true) + 1e-8).sqrt();
    }
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(p.size(0)) / static_cast<double>(p.size(1))));
    p = p * (1 - lr * decay) - lr * scale * u;
  }
};

/// Six steps against the formula. \param tolerance of a weight after all steps.
void follow(const Value& config, at::ScalarType type, double tolerance, double momentum_tolerance) {
  const std::vector<at::Tensor> initial = varied(type);
  Trained trained = make(config, initial);
  std::vector<Reference> references;
  for (size_t i = 0; i < kMatrices; ++i) {
    references.emplace_back(initial[i]);
    references[i].nesterov = config["muon_nesterov"].get<bool>();
    references[i].plus = config["muon_plus"].get<bool>();
    references[i].steps = config["muon_ns_steps"].get<int64_t>();
  }
  for (int64_t s = 0; s < 6; ++s) {
    const auto gradients = gradients_for(initial, s);
    const double lr = 1e-2 / static_cast<double>(1 + s % 3);
    trained.step(gradients, lr, 0.5);
    for (size_t i = 0; i < kMatrices; ++i) references[i].step(gradients[i], lr, 0.1, 0.5);
  }
  for (size_t i = 0; i < kMatrices; ++i) {
    BOOST_TEST_CONTEXT("parameter " << i << " " << initial[i].sizes()) {
      BOOST_TEST(max_difference(trained.values[i], references[i].p) < tolerance);
      BOOST_TEST(max_difference(trained.values[i], initial[i]) > 2e-3);
      const std::string name = "p" + std::to_string(i);
      BOOST_TEST(max_difference(trained.state(name + "/momentum_buffer"), references[i].b) < momentum_tolerance);
      BOOST_TEST(trained.state(name + "/step").item<int64_t>() == (i == 2 ? 3 : 6));
    }
  }
}

Value with(const std::string& key, const Value& value) {
  Value out = section();
  out[key] = value;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_muon)

BOOST_AUTO_TEST_CASE(conforms) {
  stc::host::install_torch_services();  // the operators of namespace stc
  const auto subject = [](const std::string& name) {
    return stc::testing::Subject(stc::test::plugin_folder() + "/stc_optimizer_" + name + ".so", STC_KIND_OPTIMIZER,
                                 name);
  };
  stc::testing::OptimizerCase given;
  given.inner.push_back(subject("adamw"));
  const auto report = stc::testing::check_optimizer(subject("muon"), given);
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(follows_the_formula_in_double) {
  // The iteration enlarges a rounding of 1e-16 by at most 3.4445^5 = 485, six times.
  for (const Value& config :
       {section(), with("muon_plus", true), with("muon_nesterov", false), with("muon_ns_steps", 2)}) {
    BOOST_TEST_CONTEXT(config.dump()) { follow(config, at::kDouble, 1e-12, 1e-15); }
  }
}

BOOST_AUTO_TEST_CASE(follows_the_formula_in_float_and_halves) {
  // fp32: six roundings of weights up to 1 and six rates of 1e-2 times an update that is off by at most 1e-4.
  follow(section(), at::kFloat, 5e-6, 1e-6);
  follow(with("muon_plus", true), at::kFloat, 2e-5, 1e-6);
  // A half is rounded once a step: six times half a unit of values below 1.
  follow(section(), at::kHalf, 6 * 0.5 * std::pow(2.0, -11) + 5e-6, 1e-6);
  follow(section(), at::kBFloat16, 6 * 0.5 * std::pow(2.0, -8) + 5e-6, 1e-6);
}

BOOST_AUTO_TEST_CASE(leaves_to_adamw_what_is_no_matrix_of_a_linear_layer) {
  const std::vector<at::Tensor> initial = varied();
  Trained muon = make(section(), initial);
  const std::vector<at::Tensor> rest(initial.begin() + kMatrices, initial.end());
  Trained adamw(world(), "adamw", section(), rest);
  for (int64_t s = 0; s < 5; ++s) {
    const auto gradients = gradients_for(initial, s);
    muon.step(gradients, 1e-3, 0.5);
    adamw.step({gradients.begin() + kMatrices, gradients.end()}, 1e-3, 0.5);
  }
  const std::vector<at::Tensor> values(muon.values.begin() + kMatrices, muon.values.end());
  BOOST_TEST(same_bits(values, adamw.values));
  for (size_t i = 0; i < initial.size(); ++i) {
    BOOST_TEST(muon.optimizer.algorithm(i) == (i < kMatrices ? "muon" : "adamw"));
  }
  BOOST_TEST(at::equal(muon.state("p8/exp_avg"), adamw.state("p1/exp_avg")));
  BOOST_TEST(!muon.state("p8/momentum_buffer").defined());
}

// DeepSpeed trained plain momentum under the name of Muon: the update has to be orthogonal.
BOOST_AUTO_TEST_CASE(really_orthogonalises) {
  at::manual_seed(9);
  const at::Tensor spread = at::randn({64, 64}) * at::randn({64}).exp();  // singular values far apart
  struct Case {
    at::ScalarType type;
    double factor;
    double slack;  // of a weight rounded to its type, seen through 1 / lr
  };
  for (const Case& c : {Case{at::kFloat, 1.0, 0.01}, Case{at::kFloat, 1e-3, 0.01}, Case{at::kBFloat16, 1.0, 0.1}}) {
    BOOST_TEST_CONTEXT(c10::toString(c.type) << " times " << c.factor) {
      const double lr = 0.1;
      const std::vector<at::Tensor> initial = {(at::randn({64, 64}) * 0.02).to(c.type)};
      Trained trained(world(), "muon", section(), initial, {{1.0, 0.1}}, {}, {STC_ROLE_LINEAR});
      for (int64_t step = 0; step < 3; ++step) {  // also after a state was saved and read
        if (step == 2) trained.load(trained.save());
        const at::Tensor before = trained.values[0].to(at::kDouble);
        trained.step({(spread + 0.1 * at::randn({64, 64})).to(c.type)}, lr, c.factor);
        const at::Tensor d = (before * (1 - lr * 0.1) - trained.values[0].to(at::kDouble)) / lr;
        const at::Tensor values = at::linalg_svdvals(d);
        BOOST_TEST(values[0].item<double>() < 1.5 + c.slack);
        BOOST_TEST(values[32].item<double>() > 0.5 - c.slack);
      }
      const at::Tensor raw = at::linalg_svdvals(spread);
      BOOST_TEST((raw[0] / raw[32]).item<double>() > 5);
    }
  }
}

// Emerging-Optimizers: a guard in the norm takes over when gradients are tiny. Ours has one too, stated in README.md.
BOOST_AUTO_TEST_CASE(agrees_with_the_formula_for_tiny_gradients) {
  at::manual_seed(12);
  const at::Tensor gradient = at::randn({24, 40});
  for (const double c : {1.0, 1e-4, 1e-9, 1e-12}) {
    BOOST_TEST_CONTEXT("gradient times " << c) {
      Trained trained(world(), "muon", section(), {at::zeros({24, 40})}, {{1.0, 0.0}}, {}, {STC_ROLE_LINEAR});
      Reference reference(at::zeros({24, 40}));
      trained.step({gradient * c}, 1.0);
      reference.step(gradient * c, 1.0, 0.0, 1.0);
      BOOST_TEST(max_difference(trained.values[0], reference.p) < 1e-5);
      const double largest = at::linalg_svdvals(reference.p)[0].item<double>();
      // The norm is 3 c. Below the guard of 1e-7 the iteration still makes up for a factor of 3.4445^5 = 485.
      BOOST_TEST((largest > 0.5) == (c > 1e-11));
    }
  }
}

BOOST_AUTO_TEST_CASE(leaves_alone_what_has_no_gradient_and_decays_what_has_a_zero_one) {
  const std::vector<at::Tensor> initial = {at::ones({6, 4}), at::ones({4, 6}), at::ones({5}), at::ones({5})};
  Trained trained(world(), "muon", section(), initial, {{1.0, 0.5}}, {},
                  {STC_ROLE_LINEAR, STC_ROLE_LINEAR, STC_ROLE_NORM, STC_ROLE_NORM});
  for (int s = 0; s < 10; ++s) trained.step({at::Tensor(), at::zeros({4, 6}), at::Tensor(), at::zeros({5})}, 1e-2);
  const double decayed = std::pow(1 - 1e-2 * 0.5, 10);
  for (const size_t i : {0, 2}) {
    BOOST_TEST(at::equal(trained.values[i], initial[i]));
    BOOST_TEST(trained.state("p" + std::to_string(i) + "/step").item<int64_t>() == 0);
    BOOST_TEST(max_difference(trained.values[i + 1], at::full(initial[i + 1].sizes(), decayed)) < 1e-6);
    BOOST_TEST(trained.state("p" + std::to_string(i + 1) + "/step").item<int64_t>() == 10);
  }
  BOOST_TEST(trained.state("p1/momentum_buffer").abs().max().item<double>() == 0);
}

BOOST_AUTO_TEST_CASE(bits_depend_neither_on_the_run_nor_on_the_number_of_threads) {
  const std::vector<at::Tensor> initial = varied();
  const int before = at::get_num_threads();
  std::vector<std::vector<at::Tensor>> results;
  for (const int threads : {2, 2, 1}) {
    at::set_num_threads(threads);
    Trained trained = make(with("muon_plus", true), initial);
    for (int64_t s = 0; s < 6; ++s) trained.step(gradients_for(initial, s), 1e-3, 0.7);
    results.push_back(trained.values);
  }
  at::set_num_threads(before);
  BOOST_TEST(same_bits(results[0], results[1]));
  BOOST_TEST(same_bits(results[0], results[2]));
}

BOOST_AUTO_TEST_CASE(goes_on_with_the_same_bits_after_save_and_load) {
  const std::vector<at::Tensor> initial = varied();
  Trained unbroken = make(section(), initial);
  for (int64_t s = 0; s < 5; ++s) unbroken.step(gradients_for(initial, s));
  const auto state = unbroken.save();
  BOOST_TEST(state.size() == 2 * kMatrices + 3 * (kShapes.size() - kMatrices));
  Trained resumed = make(section(), unbroken.values);
  resumed.load(state);
  for (int64_t s = 5; s < 10; ++s) {
    unbroken.step(gradients_for(initial, s));
    resumed.step(gradients_for(initial, s));
  }
  BOOST_TEST(same_bits(unbroken.values, resumed.values));
  for (const char* name : {"p3/momentum_buffer", "p2/step", "p7/exp_avg", "p8/step"}) {
    BOOST_TEST(at::equal(unbroken.state(name), resumed.state(name)));
  }
}

BOOST_AUTO_TEST_CASE(reset_forgets_momentum_moments_and_counts) {
  const std::vector<at::Tensor> initial = varied();
  Trained used = make(section(), initial);
  for (int64_t s = 0; s < 3; ++s) used.step(gradients_for(initial, s));
  used.optimizer.reset();
  BOOST_TEST(used.state("p0/step").item<int64_t>() == 0);
  Trained fresh = make(section(), used.values);
  used.step(gradients_for(initial, 4));
  fresh.step(gradients_for(initial, 4));
  BOOST_TEST(same_bits(used.values, fresh.values));
}

BOOST_AUTO_TEST_CASE(masks_in_its_own_pass_as_cautious_does_from_outside) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const double factor : {1.0, 0.25}) {
      const std::vector<at::Tensor> initial = varied(type);
      Trained cautious = make(section(), initial, "cautious");
      Trained plain = make(section(), initial);
      BOOST_TEST(cautious.optimizer.algorithm(0) == "muon");
      BOOST_TEST(cautious.optimizer.algorithm(kMatrices) == "adamw");
      int64_t reverted = 0;
      for (int64_t s = 0; s < 3; ++s) {
        const auto gradients = gradients_for(initial, s);
        std::vector<at::Tensor> before;
        for (const at::Tensor& value : plain.values) before.push_back(value.clone());
        cautious.step(gradients, 1e-2, factor);
        plain.step(gradients, 1e-2, factor);
        for (size_t i = 0; i < initial.size(); ++i) {
          if (!gradients[i].defined()) continue;
          const at::Tensor d = before[i] - plain.values[i];
          const at::Tensor keep = (d.to(at::kDouble) * gradients[i].to(at::kDouble)).gt(0);
          plain.values[i].copy_(at::where(keep, plain.values[i], before[i]));
          reverted += keep.logical_not().sum().item<int64_t>();
          BOOST_TEST_CONTEXT(c10::toString(type) << " step " << s << " parameter " << i) {
            BOOST_TEST(at::equal(cautious.values[i], plain.values[i]));
          }
        }
      }
      BOOST_TEST(reverted > 1000);
    }
  }
}

BOOST_AUTO_TEST_CASE(groups_have_rates_and_decays_of_their_own) {
  at::manual_seed(4);
  const at::Tensor w = at::randn({16, 24}) * 0.1, gradient = at::randn({16, 24});
  Trained trained(world(), "muon", section(), {w, w, w}, {{1.0, 0.1}, {3.0, 0.0}}, {0, 1, 1},
                  {STC_ROLE_LINEAR, STC_ROLE_LINEAR, STC_ROLE_HEAD});
  std::vector<Reference> references = {Reference(w), Reference(w)};
  trained.step({gradient, gradient, gradient}, 1e-2);
  references[0].step(gradient, 1e-2, 0.1, 1.0);
  references[1].step(gradient, 3e-2, 0.0, 1.0);
  for (size_t i = 0; i < 2; ++i) BOOST_TEST(max_difference(trained.values[i], references[i].p) < 1e-6);
}

BOOST_AUTO_TEST_CASE(reads_strided_gradients_by_value) {
  at::manual_seed(3);
  const at::Tensor initial = at::randn({30, 50});
  const at::Tensor transposed = at::randn({50, 30}).t();
  const at::Tensor expanded = at::randn({30, 1}).expand({30, 50});
  const std::vector<int> roles = {STC_ROLE_LINEAR, STC_ROLE_LINEAR};
  Trained strided(world(), "muon", section(), {initial, initial}, {{1.0, 0.1}}, {}, roles);
  Trained dense(world(), "muon", section(), {initial, initial}, {{1.0, 0.1}}, {}, roles);
  strided.step({transposed, expanded});
  dense.step({transposed.contiguous(), expanded.contiguous()});
  BOOST_TEST(same_bits(strided.values, dense.values));
}

BOOST_AUTO_TEST_CASE(obeys_tensors_of_factor_and_overflow) {
  const std::vector<at::Tensor> initial = varied();
  const auto gradients = gradients_for(initial, 0);
  Trained by_number = make(section(), initial);
  Trained by_tensor = make(section(), initial);
  by_number.step(gradients, 1e-3, 0.25);
  const at::Tensor factor = at::full({}, 0.25), overflow = at::ones({}), no_overflow = at::zeros({});
  stc_step_info info{};
  info.struct_size = sizeof info;
  info.lr = 1e-3;
  info.grad_factor = 1.0;
  info.grad_factor_t = stc::host::borrow_handle(factor);
  info.found_inf = stc::host::borrow_handle(overflow);
  by_tensor.step(info, gradients);
  BOOST_TEST(same_bits(by_tensor.values, initial));
  BOOST_TEST(by_tensor.state("p0/step").item<int64_t>() == 0);
  BOOST_TEST(by_tensor.state("p0/momentum_buffer").abs().max().item<double>() == 0);
  info.found_inf = stc::host::borrow_handle(no_overflow);
  by_tensor.step(info, gradients);
  BOOST_TEST(same_bits(by_tensor.values, by_number.values));
}

BOOST_AUTO_TEST_CASE(refuses_gradients_unlike_their_parameter_and_changes_nothing) {
  const std::vector<at::Tensor> initial = {at::ones({4, 3}), at::ones({5})};
  Trained trained(world(), "muon", section(), initial, {{1.0, 0.1}}, {}, {STC_ROLE_LINEAR, STC_ROLE_BIAS});
  const auto refusal = [&](const at::Tensor& first, const at::Tensor& second) {
    return message_of([&] { trained.step({first, second}); });
  };
  BOOST_TEST(refusal(at::ones({3, 4}), at::ones({5})) ==
             "plugin muon (optimizer): step: parameter p0: gradient has shape (3,4), expected (4,3)");
  BOOST_TEST(refusal(at::ones({4, 3}), at::ones({4})) ==
             "plugin muon (optimizer): step: plugin adamw: parameter p1: gradient has shape (4), expected (5)");
  BOOST_TEST(
      holds(refusal(at::ones({4, 3}).to_sparse(), at::ones({5})), "parameter p0: gradient: tensor_info: layout"));
  BOOST_TEST(holds(refusal(at::ones({4, 3}, at::kComplexFloat), at::ones({5})), "tensor_info: dtype ComplexFloat"));
  BOOST_TEST(same_bits(trained.values, initial));
  BOOST_TEST(trained.state("p1/step").item<int64_t>() == 0);
}

BOOST_AUTO_TEST_CASE(refuses_parameters_and_settings_that_it_cannot_use) {
  const at::Tensor block = at::ones({40});
  const auto refusal = [&](std::vector<at::Tensor> tensors) {
    return message_of([&] {
      Trained(Trained::Borrow(), world(), "muon", section(), std::move(tensors), {STC_ROLE_LINEAR, STC_ROLE_NORM});
    });
  };
  // Between the two algorithms too.
  BOOST_TEST(holds(refusal({block.narrow(0, 0, 20).view({4, 5}), block.narrow(0, 10, 20)}), "shares memory with p0"));
  BOOST_TEST(holds(refusal({at::ones({4, 3}).t(), at::ones({5})}), "parameter p0: is not contiguous"));
  const auto setting = [](const std::string& key, const Value& value) {
    return message_of([&] { Trained(world(), "muon", with(key, value), {at::ones({2, 2})}); });
  };
  BOOST_TEST(setting("betas", Value::array({0.9})) ==
             "optimizer.betas: plugin adamw (optimizer): create: got 1 values, expected 2");
  BOOST_TEST(holds(setting("muon_momentum", 1.0), "optimizer.muon_momentum: got 1"));
  BOOST_TEST(holds(setting("muon_ns_steps", 0), "optimizer.muon_ns_steps: got 0"));
  BOOST_TEST(holds(setting("muon_norm_eps", 0.0), "optimizer.muon_norm_eps: got 0"));
}

BOOST_AUTO_TEST_CASE(is_bound_once) {
  const at::Tensor tensor = at::ones({2});
  Trained trained(world(), "muon", section(), {tensor});
  stc::host::ModelParameter more;
  more.name = "more";
  more.tensor = stc::host::borrow_handle(tensor);
  BOOST_TEST(message_of([&] { trained.optimizer.bind({&more}, {0}, {{}}); }) ==
             "plugin muon (optimizer): bind: bind: called twice");
}

/// Stands in for adamw, without an extension.
stc_error* create_plain_inner(void*, int32_t, const char*, const stc_config*, const void** table, void** instance,
                              const stc_plugin** plugin) {
  static int place = 0;
  static const stc_plugin declared = [] {
    stc_plugin out{};
    out.name = "adamw";
    return out;
  }();
  static const stc_optimizer_api api = [] {
    stc_optimizer_api out{};
    out.struct_size = sizeof out;
    out.destroy = [](stc_optimizer*) {};
    return out;
  }();
  *table = &api;
  *instance = &place;
  *plugin = &declared;
  return nullptr;
}

BOOST_AUTO_TEST_CASE(is_cautious_only_with_an_adamw_that_can_be) {
  stc::host::install_torch_services();
  const stc::testing::Subject subject(stc::test::plugin_folder() + "/stc_optimizer_muon.so", STC_KIND_OPTIMIZER,
                                      "muon");
  stc::testing::FakeHost host;
  host.table().create_inner = &create_plain_inner;
  const stc::testing::Instance<stc_optimizer_api, stc_optimizer> muon(subject, host, {});
  BOOST_REQUIRE(muon.error().message == "");
  const auto* cautious =
      static_cast<const stc_optimizer_cautious*>(muon.api().get_extension(muon.get(), STC_OPTIMIZER_CAUTIOUS));
  BOOST_REQUIRE(cautious != nullptr);
  BOOST_TEST(muon.call(cautious->set_cautious, 1).message ==
             "cautious: plugin adamw has no extension " STC_OPTIMIZER_CAUTIOUS);
}

BOOST_AUTO_TEST_CASE(refuses_a_state_that_is_not_its_own_and_keeps_what_it_has) {
  const std::vector<at::Tensor> initial = {at::ones({4, 3}), at::ones({3})};
  Trained trained(world(), "muon", section(), initial, {{1.0, 0.1}}, {}, {STC_ROLE_LINEAR, STC_ROLE_NORM});
  trained.step({at::ones({4, 3}), at::ones({3})});
  const auto state = trained.save();
  const at::Tensor before = trained.state("p0/momentum_buffer");
  auto missing = state;
  missing.erase(missing.begin());
  BOOST_TEST(holds(message_of([&] { trained.load(missing); }), "state p0/momentum_buffer: is missing"));
  auto resized = state;
  resized[0].shape = {3, 4};
  BOOST_TEST(holds(message_of([&] { trained.load(resized); }),
                   "state p0/momentum_buffer: got float32 (3,4), expected float32 (4,3)"));
  BOOST_TEST(at::equal(trained.state("p0/momentum_buffer"), before));
}

BOOST_AUTO_TEST_SUITE_END()
