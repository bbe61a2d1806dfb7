// A stable model and optimizer train through the host's adapters, and equal the same maths in LibTorch's C++.

#include <boost/test/unit_test.hpp>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>

#include "host/errors/error.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::Model;
using stc::host::NamedHandle;
using stc::host::PluginError;
using stc::host::Value;
using stc::test::Trained;
using stc::test::World;

namespace {

World& world() {
  static World world({STC_TEST_STABLE_PLUGINS});
  return world;
}

struct Data {
  at::Tensor ids, labels;
  std::vector<NamedHandle> inputs() const {
    return {{"input_ids", stc::host::borrow_handle(ids)}, {"labels", stc::host::borrow_handle(labels)}};
  }
};
Data batch(int64_t s) {
  at::manual_seed(static_cast<uint64_t>(40 + s));
  const at::Tensor ids = at::randint(16, {4, 7}, at::kLong);
  return {ids, (ids + 1).remainder(16)};
}

stc_pass_info training_pass() {
  stc_pass_info info{};
  info.struct_size = sizeof info;
  info.flags = STC_PASS_TRAINING;
  info.weight = 1.0;
  return info;
}

at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& labels) {
  return at::cross_entropy_loss(logits.flatten(0, 1), labels.flatten());
}

/// The plugin's forward, written in C++.
at::Tensor host_forward(const std::vector<at::Tensor>& p, const at::Tensor& ids) {
  const at::Tensor x = at::rms_norm(at::embedding(p[0], ids), {8}, p[1], 1e-5);
  const at::Tensor h = at::silu(at::linear(x, p[2], p[3]));
  return at::linear(x.add(h * h, 0.5), p[0]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sdk_stable_model)

BOOST_AUTO_TEST_CASE(trains_to_the_bits_of_the_same_maths_in_the_host) {
  Model model(
      world().spec(STC_KIND_MODEL, "test_tiny_lm", Value{{"vocab", 16}, {"width", 8}, {"square_fails", false}}));
  model.init(3);
  std::vector<at::Tensor> plugin_side, host_side;
  for (const auto& parameter : model.parameters()) {
    plugin_side.push_back(stc::host::to_tensor(parameter.tensor));
    host_side.push_back(plugin_side.back().detach().clone().requires_grad_());
  }
  const Value section{{"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"fused", nullptr}};
  Trained plugin_optimizer(Trained::Borrow(), world(), "adamw", section, plugin_side);
  Trained host_optimizer(Trained::Borrow(), world(), "adamw", section, host_side);
  double first = 0, last = 0;
  for (int64_t s = 0; s < 60; ++s) {
    const Data data = batch(s % 4);
    const auto outputs = model.forward(training_pass(), data.inputs());
    const at::Tensor loss = loss_of(stc::host::to_tensor(outputs.find("logits")), data.labels);
    const at::Tensor host_loss = loss_of(host_forward(host_side, data.ids), data.labels);
    BOOST_TEST(loss.item<float>() == host_loss.item<float>());
    loss.backward();
    host_loss.backward();
    const auto gradients = [](std::vector<at::Tensor>& tensors) {
      std::vector<at::Tensor> out;
      for (at::Tensor& tensor : tensors) {
        out.push_back(tensor.grad());
        tensor.mutable_grad() = at::Tensor();
      }
      return out;
    };
    plugin_optimizer.step(gradients(plugin_side), 1e-2);
    host_optimizer.step(gradients(host_side), 1e-2);
    (s == 0 ? first : last) = loss.item<double>();
  }
  for (size_t i = 0; i < plugin_side.size(); ++i) BOOST_TEST(at::equal(plugin_side[i], host_side[i]));
  BOOST_TEST(last < 0.5 * first);
}

BOOST_AUTO_TEST_CASE(describes_itself_and_names_what_is_wrong) {
  Model model(
      world().spec(STC_KIND_MODEL, "test_tiny_lm", Value{{"vocab", 16}, {"width", 8}, {"square_fails", false}}));
  model.init(3);
  BOOST_TEST(model.parameters().size() == 4U);
  BOOST_TEST(model.parameters()[0].aliases.at(0) == "head.weight");
  BOOST_TEST(model.parameters()[2].role == STC_ROLE_LINEAR);
  BOOST_TEST(model.dimensions().at(0).second == 8);
  BOOST_TEST(!model.has_loss_and_grad());
  BOOST_TEST(!model.has_generate());
  BOOST_TEST(model.gradient(0) == nullptr);
  std::string reason;
  BOOST_TEST(!model.set_gradient_checkpointing(true, reason));
  BOOST_TEST(reason == "model test_tiny_lm has no gradient checkpointing");
  const auto outputs = model.forward(training_pass(), batch(0).inputs());
  BOOST_TEST(stc::host::to_tensor(outputs.find("hidden_mean")).requires_grad() == false);
  BOOST_CHECK_EXCEPTION(model.forward(training_pass(), {}), PluginError, [](const PluginError& error) {
    return std::string(error.what()) == "plugin test_tiny_lm (model): forward: the batch has no input_ids";
  });
  // LibTorch's own words come through, without a backtrace.
  Data wrong = batch(0);
  wrong.ids = wrong.ids.to(at::kFloat);
  BOOST_CHECK_EXCEPTION(model.forward(training_pass(), wrong.inputs()), PluginError, [](const PluginError& error) {
    const std::string text = error.what();
    return text.find("aten::embedding") != std::string::npos && text.find("indices") != std::string::npos &&
           text.find("Exception raised from") == std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(init_depends_on_the_seed_alone) {
  const auto weights = [&](uint64_t seed) {
    Model model(
        world().spec(STC_KIND_MODEL, "test_tiny_lm", Value{{"vocab", 16}, {"width", 8}, {"square_fails", false}}));
    model.init(seed);
    return stc::host::to_tensor(model.parameters()[2].tensor).detach().clone();
  };
  BOOST_TEST(at::equal(weights(5), weights(5)));
  BOOST_TEST(!at::equal(weights(5), weights(6)));
}

BOOST_AUTO_TEST_CASE(an_error_in_a_backward_of_its_own_ends_the_pass_and_names_it) {
  Model model(world().spec(STC_KIND_MODEL, "test_tiny_lm", Value{{"vocab", 16}, {"width", 8}, {"square_fails", true}}));
  model.init(3);
  const Data data = batch(0);
  const auto outputs = model.forward(training_pass(), data.inputs());
  const at::Tensor loss = loss_of(stc::host::to_tensor(outputs.find("logits")), data.labels);
  BOOST_CHECK_EXCEPTION(loss.backward(), PluginError, [](const PluginError& error) {
    return std::string(error.what()) == "square: backward: the square refuses";
  });
}

BOOST_AUTO_TEST_CASE(the_graph_may_outlive_the_model) {
  at::Tensor loss;
  {
    Model model(
        world().spec(STC_KIND_MODEL, "test_tiny_lm", Value{{"vocab", 16}, {"width", 8}, {"square_fails", false}}));
    model.init(3);
    const Data data = batch(0);
    const auto outputs = model.forward(training_pass(), data.inputs());
    loss = loss_of(stc::host::to_tensor(outputs.find("logits")), data.labels);
  }
  BOOST_TEST(loss.grad_fn() != nullptr);
  loss.reset();
}

BOOST_AUTO_TEST_CASE(a_library_with_a_wrong_schema_is_refused_in_words) {
  World fresh;
  BOOST_CHECK_EXCEPTION(fresh.registry().load_library(STC_TEST_WRONG_SCHEMA), PluginError,
                        [](const PluginError& error) {
                          const std::string text = error.what();
                          return text.find("stc_test_wrong_schema.so") != std::string::npos &&
                                 text.find("aten::relu(Tensor self) -> Tensor") != std::string::npos &&
                                 text.find("aten::relu(Tensor self, bool inplace) -> Tensor") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_SUITE_END()
