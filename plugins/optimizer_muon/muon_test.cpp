#include <boost/test/unit_test.hpp>

#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "tests/support/torch_plugins.hpp"

using stc::host::Value;
using stc::test::World;

namespace {

World& world() {
  static World world;
  return world;
}

Value section(bool plus = false) {
  return Value{{"muon_momentum", 0.95}, {"muon_ns_steps", 5}, {"muon_norm_eps", 1e-8}, {"muon_plus", plus},
               {"betas", {0.9, 0.95}},  {"eps", 1e-8},        {"fused", nullptr},      {"name", "muon"}};
}

/// Parameters with names and roles of their own under an optimizer.
struct Trained {
  Trained(const std::string& plugin, Value keys, const std::vector<at::Tensor>& initial, std::vector<std::string> names,
          const std::vector<int>& roles, double decay = 0.1)
      : optimizer(world().spec(STC_KIND_OPTIMIZER, plugin, std::move(keys))) {
    for (const at::Tensor& tensor : initial) values.push_back(tensor.clone());
    for (size_t i = 0; i < values.size(); ++i) {
      parameters.push_back({names[i], {}, roles[i], true, stc::host::borrow_handle(values[i])});
    }
    for (const auto& parameter : parameters) pointers.push_back(&parameter);
    optimizer.bind(pointers, std::vector<uint32_t>(pointers.size(), 0), {{1.0, decay}});
  }
  void step(const std::vector<at::Tensor>& gradients, double lr = 0.01, double factor = 1.0) {
    std::vector<stc_tensor> handles;
    for (const at::Tensor& g : gradients) handles.push_back(g.defined() ? stc::host::borrow_handle(g) : nullptr);
    stc_step_info info{};
    info.struct_size = sizeof info;
    info.lr = lr;
    info.step = steps++;
    info.grad_factor = factor;
    optimizer.step(info, handles);
  }
  stc::host::Optimizer optimizer;
  std::vector<at::Tensor> values;
  std::vector<stc::host::ModelParameter> parameters;
  std::vector<const stc::host::ModelParameter*> pointers;
  uint64_t steps = 0;
};

/// Matrices only: tall, wide, square, one larger than a block, two of one shape.
const std::vector<std::vector<int64_t>> kShapes = {{40, 12}, {12, 40}, {24, 24}, {300, 270}, {12, 40}};

std::vector<at::Tensor> matrices(uint64_t seed, at::ScalarType type = at::kFloat) {
  at::manual_seed(seed);
  std::vector<at::Tensor> out;
  for (const auto& shape : kShapes) out.push_back((at::randn(shape) * 0.3).to(type));
  return out;
}

std::vector<std::string> names(size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back("h." + std::to_string(i) + ".proj.weight");
  return out;
}

Trained all_linear(const std::vector<at::Tensor>& initial, Value keys = section(), const char* optimizer = "muon") {
  return Trained(optimizer, std::move(keys), initial, names(initial.size()),
                 std::vector<int>(initial.size(), STC_ROLE_LINEAR));
}

/// The formula of the README in fp64, as written there: with transposed copies and whole products.
struct Reference {
  at::Tensor w, b;
  explicit Reference(const at::Tensor& initial) : w(initial.to(at::kDouble)), b(at::zeros_like(w)) {}
  void step(const at::Tensor& gradient, double lr, double decay, double factor, bool plus) {
    const at::Tensor g = gradient.to(at::kDouble) * factor;
    b = 0.95 * b + 0.05 * g;
    const at::Tensor q = g + 0.95 * (b - g);
    const bool tall = q.size(0) > q.size(1);
    at::Tensor x = tall ? q.t() : q;
    x = x / (at::linalg_vector_norm(x) + 1e-7);
    for (int i = 0; i < 5; ++i) {
      const at::Tensor a = at::matmul(x, x.t());
      x = 3.4445 * x + at::matmul(-4.7750 * a + 2.0315 * at::matmul(a, a), x);
    }
    at::Tensor u = tall ? x.t() : x;
    if (plus) {
      u = u / (u.square().sum(1, true) + 1e-8).sqrt();
      u = u / (u.square().sum(0, true) + 1e-8).sqrt();
    }
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(w.size(0)) / static_cast<double>(w.size(1))));
    w = w * (1 - lr * decay) - lr * scale * u;
  }
};

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

void follow_formula(at::ScalarType type, bool plus, double tolerance) {
  const auto initial = matrices(1, type);
  Trained trained = all_linear(initial, section(plus));
  std::vector<Reference> reference;
  for (const at::Tensor& tensor : initial) reference.emplace_back(tensor);
  for (uint64_t s = 0; s < 10; ++s) {
    auto gradients = matrices(100 + s, type);
    if (s % 3 == 1) gradients[2] = at::Tensor();
    trained.step(gradients, 0.02, 0.5);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) reference[i].step(gradients[i], 0.02, 0.1, 0.5, plus);
    }
  }
  for (size_t i = 0; i < initial.size(); ++i) {
    BOOST_TEST_INFO("matrix " << i);
    BOOST_CHECK_LE(difference(trained.values[i], reference[i].w), tolerance);
    BOOST_CHECK_GT(difference(trained.values[i], initial[i]), 0.01);
  }
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const stc::host::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_muon)

BOOST_AUTO_TEST_CASE(follows_the_formula_in_fp32) { follow_formula(at::kFloat, false, 2e-5); }
BOOST_AUTO_TEST_CASE(follows_the_formula_in_fp64) { follow_formula(at::kDouble, false, 1e-12); }
BOOST_AUTO_TEST_CASE(follows_the_formula_of_plus) { follow_formula(at::kFloat, true, 2e-5); }

BOOST_AUTO_TEST_CASE(really_orthogonalises) {
  const auto initial = matrices(3);
  Trained trained("muon", section(), initial, names(initial.size()), std::vector<int>(initial.size(), STC_ROLE_LINEAR), 0.0);
  trained.step(matrices(4), 1.0);
  for (size_t i = 0; i < initial.size(); ++i) {
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(kShapes[i][0]) / static_cast<double>(kShapes[i][1])));
    const at::Tensor update = (initial[i] - trained.values[i]).to(at::kDouble) / scale;
    const at::Tensor singular = at::linalg_svdvals(update);
    BOOST_TEST_INFO("matrix " << i);
    BOOST_CHECK_LE(singular.max().item<double>(), 1.5);
    BOOST_CHECK_GE(singular.median().item<double>(), 0.5);
  }
}

BOOST_AUTO_TEST_CASE(small_gradients_give_the_same_direction_until_the_guard_shows) {
  const auto initial = matrices(5);
  auto gradients = matrices(6);
  const auto update = [&](double size) {
    Trained trained("muon", section(), {initial[2]}, {"h.proj.weight"}, {STC_ROLE_LINEAR}, 0.0);
    trained.step({gradients[2] * size}, 1.0);
    return at::linalg_vector_norm((initial[2] - trained.values[0]).to(at::kDouble)).item<double>();
  };
  const double full = update(1.0);
  BOOST_CHECK_CLOSE(update(1e-4), full, 1.0);
  BOOST_CHECK_LT(update(1e-12), 0.1 * full);  // as the README states
  BOOST_CHECK_GT(full, 3.0);
}

BOOST_AUTO_TEST_CASE(routes_by_role_and_name) {
  const std::vector<std::string> all = {"h.0.attn.q_proj.weight", "wte.weight", "lm_head.weight", "h.0.ln.weight", "h.0.mlp.bias",
                                        "body.head.proj.weight", "odd.weight", "vector.weight", "conv.weight"};
  const std::vector<int> roles = {STC_ROLE_LINEAR, STC_ROLE_EMBEDDING, STC_ROLE_HEAD, STC_ROLE_NORM, STC_ROLE_BIAS,
                                  STC_ROLE_LINEAR, STC_ROLE_FORCE_MUON, STC_ROLE_FORCE_MUON, STC_ROLE_FORCE_ADAMW};
  std::vector<at::Tensor> tensors(all.size(), at::zeros({4, 3}));
  for (at::Tensor& tensor : tensors) tensor = at::zeros({4, 3});
  tensors[7] = at::zeros({5});
  Trained trained("muon", section(), tensors, all, roles);
  const std::vector<std::string> expected = {"muon", "adamw", "adamw", "adamw", "adamw", "adamw", "muon", "adamw", "adamw"};
  const auto found = trained.optimizer.routing(trained.pointers);
  BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

BOOST_AUTO_TEST_CASE(what_is_not_muons_is_updated_as_by_adamw) {
  const std::vector<at::Tensor> initial = {at::randn({6, 4}), at::randn({9})};
  Trained muon("muon", section(), initial, {"wte.weight", "ln.weight"}, {STC_ROLE_EMBEDDING, STC_ROLE_NORM});
  Value keys{{"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"fused", nullptr}};
  Trained adamw("adamw", keys, initial, {"wte.weight", "ln.weight"}, {STC_ROLE_EMBEDDING, STC_ROLE_NORM});
  for (int s = 0; s < 5; ++s) {
    const std::vector<at::Tensor> gradients = {at::randn({6, 4}), s == 2 ? at::Tensor() : at::randn({9})};
    muon.step(gradients);
    adamw.step(gradients);
  }
  for (size_t i = 0; i < initial.size(); ++i) BOOST_CHECK(muon.values[i].equal(adamw.values[i]));
}

BOOST_AUTO_TEST_CASE(no_gradient_is_untouched_and_a_zero_one_decays) {
  const std::vector<at::Tensor> initial = {at::randn({8, 8}), at::randn({8, 8})};
  Trained trained("muon", section(), initial, names(2), {STC_ROLE_LINEAR, STC_ROLE_LINEAR}, 0.5);
  for (int s = 0; s < 10; ++s) trained.step({at::Tensor(), at::zeros({8, 8})}, 0.01);
  BOOST_CHECK(trained.values[0].equal(initial[0]));
  BOOST_CHECK_LE(difference(trained.values[1], initial[1] * std::pow(1 - 0.01 * 0.5, 10)), 1e-6);
}

BOOST_AUTO_TEST_CASE(cautious_keeps_what_agrees_with_the_gradient) {
  const auto initial = matrices(8);
  Trained plain = all_linear(initial);
  Trained cautious = all_linear(initial, section(), "cautious");
  const auto gradients = matrices(9);
  plain.step(gradients);
  cautious.step(gradients);
  for (size_t i = 0; i < initial.size(); ++i) {
    const at::Tensor same = ((initial[i] - plain.values[i]) * gradients[i]).gt(0);
    BOOST_CHECK(cautious.values[i].equal(at::where(same, plain.values[i], initial[i])));
    BOOST_CHECK(same.any().item<bool>() && !same.all().item<bool>());
  }
}

BOOST_AUTO_TEST_CASE(state_goes_round_by_name) {
  const auto initial = matrices(10);
  Trained first = all_linear(initial);
  for (uint64_t s = 0; s < 3; ++s) first.step(matrices(20 + s));
  stc::host::StateCollector saved;
  first.optimizer.state_save(saved.writer());
  const auto tensors = saved.take_tensors();
  Trained second = all_linear(first.values);
  second.optimizer.state_load(stc::host::StateProvider(tensors, saved.bytes_as_value()).reader());
  second.steps = first.steps;
  for (uint64_t s = 0; s < 3; ++s) {
    first.step(matrices(30 + s));
    second.step(matrices(30 + s));
  }
  for (size_t i = 0; i < initial.size(); ++i) BOOST_CHECK(first.values[i].equal(second.values[i]));
}

BOOST_AUTO_TEST_CASE(gives_the_same_bits_every_time) {
  const auto initial = matrices(11);
  const auto run = [&] {
    Trained trained = all_linear(initial);
    for (uint64_t s = 0; s < 3; ++s) trained.step(matrices(40 + s));
    return trained.values;
  };
  const auto a = run();
  const auto b = run();
  for (size_t i = 0; i < a.size(); ++i) BOOST_CHECK(a[i].equal(b[i]));
}

BOOST_AUTO_TEST_CASE(a_refused_update_changes_nothing) {
  const auto initial = matrices(12);
  Trained trained = all_linear(initial);
  const at::Tensor refused = at::full({}, 1.0f);
  const auto gradients = matrices(13);
  std::vector<stc_tensor> handles;
  for (const at::Tensor& g : gradients) handles.push_back(stc::host::borrow_handle(g));
  stc_step_info info{};
  info.struct_size = sizeof info;
  info.lr = 0.1;
  info.grad_factor = 1;
  info.found_inf = stc::host::borrow_handle(refused);
  trained.optimizer.step(info, handles);
  for (size_t i = 0; i < initial.size(); ++i) BOOST_CHECK(trained.values[i].equal(initial[i]));
}

BOOST_AUTO_TEST_CASE(bad_gradients_are_refused_by_name) {
  Trained trained("muon", section(), {at::zeros({4, 3})}, {"h.proj.weight"}, {STC_ROLE_LINEAR});
  BOOST_CHECK_EQUAL(message_of([&] { trained.step({at::zeros({3, 4})}); }),
                    "plugin muon (optimizer): step: parameter h.proj.weight: gradient has shape (3,4), expected (4,3)");
  BOOST_CHECK_EQUAL(message_of([&] { trained.step({at::zeros({4, 3}, at::kDouble)}); }),
                    "plugin muon (optimizer): step: parameter h.proj.weight: gradient has dtype float64, expected float32");
  const std::string sparse = message_of([&] { trained.step({at::eye(4).narrow(1, 0, 3).to_sparse()}); });
  BOOST_CHECK_MESSAGE(sparse.find("parameter h.proj.weight: gradient: ") != std::string::npos, sparse);
}

BOOST_AUTO_TEST_SUITE_END()
