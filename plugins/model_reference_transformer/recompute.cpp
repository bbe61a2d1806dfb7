#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <type_traits>

#include "functions.hpp"

namespace stc::reference_transformer {
namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// Autocast as it was in the forward, for the second run of the body.
class AutocastState {
 public:
  explicit AutocastState(at::DeviceType device)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)) {}
  void set() const {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
};

class AutocastGuard {
 public:
  explicit AutocastGuard(const AutocastState& state, at::DeviceType device) : previous_(device) { state.set(); }
  ~AutocastGuard() { previous_.set(); }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  AutocastState previous_;
};

struct RecomputeNode final : Node {
  std::function<Activations(const Activations&)> body;
  Activations input;
  std::optional<AutocastState> autocast;
  at::DeviceType device = at::kCPU;

  std::string name() const override { return "stc::Recompute"; }
  void release_variables() override {
    body = nullptr;
    input = {};
  }
  variable_list apply(variable_list&& grads) override {
    TORCH_CHECK(body != nullptr, "gradient checkpointing: backward ran a second time through one graph");
    auto fresh_leaf = [](const at::Tensor& t) { return t.defined() ? t.detach().requires_grad_(true) : at::Tensor(); };
    const Activations leaf{fresh_leaf(input.first), fresh_leaf(input.second)};
    variable_list roots;
    variable_list root_grads;
    {
      at::AutoGradMode record(true);
      AutocastGuard guard(*autocast, device);
      const Activations again = body(leaf);
      const at::Tensor* outputs[] = {&again.first, &again.second};
      for (size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i].defined()) continue;
        roots.push_back(*outputs[i]);
        root_grads.push_back(grads[i]);
      }
    }
    if (roots.empty()) return variable_list(num_outputs());
    torch::autograd::backward(roots, root_grads);
    variable_list out{leaf.first.grad()};
    if (leaf.second.defined()) out.push_back(leaf.second.grad());
    return out;
  }
};

template <class Base = Node>
auto make_recompute_node() {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Base>) {
    return c10::make_intrusive<RecomputeNode>();
  } else {
    return std::make_shared<RecomputeNode>();
  }
}

}  // namespace

Activations recompute(const std::function<Activations(const Activations&)>& body, const Activations& input) {
  if (!at::GradMode::is_enabled()) return body(input);
  Activations output;
  {
    at::NoGradGuard no_grad;
    output = body(input);
  }
  auto node = make_recompute_node<>();
  node->body = body;
  node->input = input;
  node->device = input.first.device().type();
  node->autocast.emplace(node->device);
  if (input.second.defined()) {
    node->set_next_edges(torch::autograd::collect_next_edges(input.first, input.second));
  } else {
    node->set_next_edges(torch::autograd::collect_next_edges(input.first));
  }
  torch::autograd::set_history(output.first, node);
  torch::autograd::set_history(output.second, node);
  return output;
}

}  // namespace stc::reference_transformer
