// Differentiable functions of plugins, through the C callbacks.

#include <boost/test/unit_test.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::ErrorText;
using stc::host::PluginError;
using stc::host::take_error;
using stc::host::to_handle;
using stc::host::to_tensor;

namespace {

const stc_host& table() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("test", nullptr);
  return services.table();
}

/// z = x * y, w = exp(x): saves inputs x, y and output w. Counts its calls.
struct Function {
  int forwards = 0, backwards = 0, releases = 0;
  bool recorded = false;  // forward saw gradient mode on
  bool null_grad_seen = false;
  bool forward_fails = false, backward_fails = false, backward_throws = false, too_many_saved = false,
       output_missing = false;

  static stc_error* forward(void* ctx, const stc_tensor* inputs, uint32_t, stc_tensor* outputs, uint32_t,
                            stc_tensor* saved, uint32_t max_saved, uint32_t* num_saved) {
    auto& self = *static_cast<Function*>(ctx);
    ++self.forwards;
    self.recorded = at::GradMode::is_enabled();
    if (self.forward_fails) return stc::host::make_error(STC_ERROR_INVALID_ARGUMENT, "forward will not");
    const at::Tensor& x = to_tensor(inputs[0]);
    const at::Tensor& y = to_tensor(inputs[1]);
    const at::Tensor w = x.exp();
    outputs[0] = to_handle(x * y);
    if (!self.output_missing) outputs[1] = to_handle(w);
    saved[0] = to_handle(x);
    saved[1] = to_handle(y);
    saved[2] = to_handle(w);
    *num_saved = self.too_many_saved ? max_saved + 1 : 3;
    return nullptr;
  }
  static stc_error* backward(void* ctx, const stc_tensor* saved, uint32_t num_saved, const stc_tensor* grads, uint32_t,
                             stc_tensor* out, uint32_t) {
    auto& self = *static_cast<Function*>(ctx);
    ++self.backwards;
    if (self.backward_fails) return stc::host::make_error(STC_ERROR_INTERNAL, "backward will not");
    if (self.backward_throws) throw 5;
    if (num_saved != 3) return stc::host::make_error(STC_ERROR_INTERNAL, "lost what was saved");
    self.null_grad_seen = grads[0] == nullptr || grads[1] == nullptr;
    at::Tensor dx;
    if (grads[0] != nullptr) {
      dx = to_tensor(grads[0]) * to_tensor(saved[1]);
      out[1] = to_handle(to_tensor(grads[0]) * to_tensor(saved[0]));
    }
    if (grads[1] != nullptr) {
      const at::Tensor more = to_tensor(grads[1]) * to_tensor(saved[2]);
      dx = dx.defined() ? dx + more : more;
    }
    out[0] = to_handle(dx);
    return nullptr;
  }
  static void release(void* ctx) { ++static_cast<Function*>(ctx)->releases; }

  ErrorText apply(const at::Tensor& x, const at::Tensor& y, std::vector<at::Tensor>& results) {
    stc_autograd_function function{};
    function.struct_size = sizeof function;
    function.name = "product";
    function.forward = &forward;
    function.backward = &backward;
    function.release = &release;
    const stc_tensor inputs[2] = {stc::host::borrow_handle(x), stc::host::borrow_handle(y)};
    stc_tensor outputs[2] = {nullptr, nullptr};
    const ErrorText error = take_error(table().autograd_apply(table().ctx, &function, this, inputs, 2, outputs, 2));
    results.clear();
    for (stc_tensor handle : outputs) {
      if (handle == nullptr) continue;
      results.push_back(to_tensor(handle));
      table().tensor_delete(table().ctx, handle);
    }
    return error;
  }
};

at::Tensor leaf() { return at::randn({5}).requires_grad_(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(torch_autograd)

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_same_maths_in_libtorch) {
  at::manual_seed(1);
  const at::Tensor x = leaf(), y = leaf();
  const at::Tensor x2 = x.detach().clone().requires_grad_(), y2 = y.detach().clone().requires_grad_();
  Function function;
  std::vector<at::Tensor> results;
  BOOST_TEST(function.apply(x, y, results).message == "");
  BOOST_TEST(!function.recorded);
  (results[0] * 3 + results[1] * results[1]).sum().backward();
  const at::Tensor w = x2.exp();
  (x2 * y2 * 3 + w * w).sum().backward();
  BOOST_TEST((x.grad() - x2.grad()).abs().max().item<double>() < 1e-6);
  BOOST_TEST((y.grad() - y2.grad()).abs().max().item<double>() < 1e-6);
  BOOST_TEST(function.backwards == 1);
  BOOST_TEST(function.releases == 0);
  results.clear();
  BOOST_TEST(function.releases == 1);  // a saved output makes no cycle
}

BOOST_AUTO_TEST_CASE(an_unused_output_has_a_null_gradient) {
  const at::Tensor x = leaf(), y = leaf();
  Function function;
  std::vector<at::Tensor> results;
  function.apply(x, y, results);
  results[1].sum().backward();
  BOOST_TEST(function.null_grad_seen);
  BOOST_TEST((x.grad() - x.detach().exp()).abs().max().item<double>() < 1e-6);
  BOOST_TEST(!y.grad().defined());
}

BOOST_AUTO_TEST_CASE(without_gradients_there_is_no_node_and_release_comes_at_once) {
  std::vector<at::Tensor> results;
  Function constants;
  constants.apply(at::ones({2}), at::ones({2}), results);
  BOOST_TEST(!results[0].requires_grad());
  BOOST_TEST(constants.releases == 1);
  const at::NoGradGuard no_grad;
  Function switched_off;
  switched_off.apply(leaf(), leaf(), results);
  BOOST_TEST(!results[0].requires_grad());
  BOOST_TEST(switched_off.releases == 1);
}

BOOST_AUTO_TEST_CASE(errors_of_forward_come_back_and_nothing_is_kept) {
  std::vector<at::Tensor> results;
  Function fails;
  fails.forward_fails = true;
  BOOST_TEST(fails.apply(leaf(), leaf(), results).message == "forward will not");
  BOOST_TEST(fails.releases == 1);
  BOOST_TEST(results.empty());
  Function greedy;
  greedy.too_many_saved = true;
  BOOST_TEST(greedy.apply(leaf(), leaf(), results).message == "product: forward: saved 37 tensors, allowed 36");
  BOOST_TEST(greedy.releases == 1);
  Function forgetful;
  forgetful.output_missing = true;
  BOOST_TEST(forgetful.apply(leaf(), leaf(), results).message == "product: forward: output 1 was not written");
  BOOST_TEST(forgetful.releases == 1);
}

BOOST_AUTO_TEST_CASE(errors_of_backward_end_the_pass) {
  const auto run = [](Function& function) {
    std::vector<at::Tensor> results;
    function.apply(leaf(), leaf(), results);
    try {
      results[0].sum().backward();
    } catch (const PluginError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  Function fails;
  fails.backward_fails = true;
  BOOST_TEST(run(fails) == "product: backward: backward will not");
  BOOST_TEST(fails.releases == 1);
  Function throws;
  throws.backward_throws = true;
  BOOST_TEST(run(throws) == "product: backward: an exception of type int");
  BOOST_TEST(throws.releases == 1);
}

BOOST_AUTO_TEST_CASE(a_graph_is_used_once_unless_it_is_retained) {
  const at::Tensor x = leaf(), y = leaf();
  Function function;
  std::vector<at::Tensor> results;
  function.apply(x, y, results);
  const at::Tensor loss = results[0].sum();
  loss.backward({}, /*retain_graph=*/true);
  loss.backward();
  BOOST_TEST(at::equal(x.grad(), y.detach() * 2));
  BOOST_CHECK_THROW(loss.backward(), std::exception);
  BOOST_TEST(function.backwards == 2);
  // The way from one output on to another sum is new; the node behind it is the one that was used.
  BOOST_CHECK_EXCEPTION(results[0].sum().backward(), stc::host::TrainError, [](const stc::host::TrainError& error) {
    return std::string(error.what()) == "product: backward: its saved tensors are gone, the graph was used before";
  });
}

BOOST_AUTO_TEST_CASE(changing_a_saved_tensor_in_place_is_an_error_not_a_wrong_gradient) {
  const at::Tensor x = leaf(), y = leaf();
  Function function;
  std::vector<at::Tensor> results;
  function.apply(x, y, results);
  {
    const at::NoGradGuard no_grad;
    at::Tensor changed = y;
    changed.add_(1);
  }
  BOOST_CHECK_THROW(results[0].sum().backward(), std::exception);
  BOOST_TEST(function.backwards == 0);
}

BOOST_AUTO_TEST_SUITE_END()
