#include "host/services/torch_autograd.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/services/tensor_handle.hpp"

namespace stc::host {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// Handles that a plugin wrote, freed here whatever happens.
class OwnedHandles {
 public:
  explicit OwnedHandles(size_t n) : raw_(n, nullptr) {}
  ~OwnedHandles() {
    for (stc_tensor handle : raw_) delete_handle(handle);
  }
  OwnedHandles(const OwnedHandles&) = delete;
  OwnedHandles& operator=(const OwnedHandles&) = delete;
  stc_tensor* data() { return raw_.data(); }
  size_t size() const { return raw_.size(); }
  /// Undefined when the plugin left it null.
  at::Tensor tensor(size_t i) const { return raw_[i] != nullptr ? to_tensor(raw_[i]) : at::Tensor(); }

 private:
  std::vector<stc_tensor> raw_;
};

/// The plugin's callbacks with their context, which is released exactly once.
class Callbacks {
 public:
  Callbacks(const stc_autograd_function& function, void* ctx) : ctx_(ctx) {
    std::memcpy(&function_, &function, std::min<size_t>(function.struct_size, sizeof function_));
    name_ = function_.name != nullptr ? function_.name : "a custom function";
  }
  ~Callbacks() {
    if (function_.release == nullptr) return;
    try {
      function_.release(ctx_);
    } catch (...) {
      // A release that throws has nobody to tell.
    }
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  const stc_autograd_function& function() const { return function_; }
  void* ctx() const { return ctx_; }
  const std::string& name() const { return name_; }

 private:
  stc_autograd_function function_{};
  void* ctx_;
  std::string name_;
};

/// Node pointers are intrusive since LibTorch 2.13 and shared before.
template <class Pointer, class NodeType>
Pointer owner_of(NodeType* node) {
  if constexpr (requires { Pointer(node->shared_from_this()); }) {
    return node->shared_from_this();
  } else {
    return Pointer::unsafe_reclaim_from_nonowning(node);
  }
}

class PluginNode : public Node {
 public:
  explicit PluginNode(std::unique_ptr<Callbacks> callbacks) : callbacks_(std::move(callbacks)) {}
  std::string name() const override { return callbacks_->name(); }

  void save(const at::Tensor& tensor, bool is_output) { saved_.emplace_back(tensor, is_output); }

  variable_list apply(variable_list&& grad_outputs) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (released_) {
      throw TrainError(name() + ": backward: its saved tensors are gone, the graph was used before");
    }
    variable_list saved;
    for (const SavedVariable& entry : saved_) saved.push_back(unpack(entry));
    std::vector<stc_tensor> saved_handles = borrow(saved);
    std::vector<stc_tensor> grad_handles = borrow(grad_outputs);
    OwnedHandles grad_inputs(num_outputs());
    run_backward(saved_handles, grad_handles, grad_inputs);
    variable_list out;
    for (size_t i = 0; i < grad_inputs.size(); ++i) out.push_back(grad_inputs.tensor(i));
    return out;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    saved_.clear();
    released_ = true;
  }

 private:
  at::Tensor unpack(const SavedVariable& entry) {
    using Pointer = decltype(torch::autograd::Edge::function);
    return entry.unpack(owner_of<Pointer>(this));
  }
  static std::vector<stc_tensor> borrow(const variable_list& tensors) {
    std::vector<stc_tensor> out;
    for (const at::Tensor& tensor : tensors) out.push_back(borrow_handle(tensor));
    return out;
  }
  void run_backward(const std::vector<stc_tensor>& saved, const std::vector<stc_tensor>& grads, OwnedHandles& out) {
    stc_error* error = nullptr;
    try {
      error = callbacks_->function().backward(callbacks_->ctx(), saved.data(), static_cast<uint32_t>(saved.size()),
                                              grads.data(), static_cast<uint32_t>(grads.size()), out.data(),
                                              static_cast<uint32_t>(out.size()));
    } catch (...) {
      throw PluginError(name() + ": backward: " + describe_current_exception());
    }
    if (error != nullptr) throw PluginError(name() + ": backward: " + take_error(error).message);
  }

  std::unique_ptr<Callbacks> callbacks_;
  std::vector<SavedVariable> saved_;
  bool released_ = false;
};

template <class Pointer>
Pointer make_node(std::unique_ptr<Callbacks> callbacks) {
  if constexpr (std::is_constructible_v<Pointer, std::shared_ptr<PluginNode>>) {
    return Pointer(std::make_shared<PluginNode>(std::move(callbacks)));
  } else {
    return c10::make_intrusive<PluginNode>(std::move(callbacks));
  }
}

bool wants_gradients(const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
}

bool is_among(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
  return std::any_of(others.begin(), others.end(), [&](const at::Tensor& other) { return tensor.is_same(other); });
}

bool differentiable(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
}

/// An output that is an input itself gets an object of its own: a graph edge belongs to one tensor.
std::vector<at::Tensor> take_outputs(const OwnedHandles& raw, const std::vector<at::Tensor>& inputs,
                                     const std::string& name) {
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < raw.size(); ++i) {
    at::Tensor output = raw.tensor(i);
    if (!output.defined()) throw PluginError(name + ": forward: output " + std::to_string(i) + " was not written");
    if (is_among(output, inputs) || is_among(output, outputs) || output.requires_grad()) output = output.detach();
    outputs.push_back(std::move(output));
  }
  return outputs;
}

void link(std::unique_ptr<Callbacks> callbacks, const std::vector<at::Tensor>& inputs,
          const std::vector<at::Tensor>& outputs, const OwnedHandles& raw_outputs, const OwnedHandles& saved,
          uint32_t num_saved) {
  using Pointer = decltype(torch::autograd::Edge::function);
  const Pointer node = make_node<Pointer>(std::move(callbacks));
  auto& plugin_node = static_cast<PluginNode&>(*node);
  torch::autograd::edge_list edges;
  for (const at::Tensor& input : inputs) {
    edges.push_back(input.defined() ? torch::autograd::impl::gradient_edge(input) : torch::autograd::Edge());
  }
  node->set_next_edges(std::move(edges));
  for (const at::Tensor& output : outputs) {
    if (differentiable(output)) {
      torch::autograd::set_history(output, node);
    } else {
      node->add_input_metadata(Node::undefined_input());
    }
  }
  for (uint32_t i = 0; i < num_saved; ++i) {
    at::Tensor tensor = saved.tensor(i);
    // The plugin saved what it wrote as an output: save the linked tensor, so that no cycle arises.
    for (size_t j = 0; j < outputs.size(); ++j) {
      if (tensor.is_same(raw_outputs.tensor(j))) tensor = outputs[j];
    }
    plugin_node.save(tensor, is_among(tensor, outputs));
  }
}

stc_error* apply(const stc_autograd_function* function, void* function_ctx, const stc_tensor* raw_inputs,
                 uint32_t num_inputs, stc_tensor* out, uint32_t num_outputs) {
  auto callbacks = std::make_unique<Callbacks>(*function, function_ctx);
  const std::string name = callbacks->name();
  if (callbacks->function().forward == nullptr || callbacks->function().backward == nullptr) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, name + ": forward and backward are both needed");
  }
  std::vector<at::Tensor> inputs;
  for (uint32_t i = 0; i < num_inputs; ++i) {
    inputs.push_back(raw_inputs[i] != nullptr ? to_tensor(raw_inputs[i]) : at::Tensor());
  }
  OwnedHandles outputs(num_outputs);
  OwnedHandles saved(num_inputs + num_outputs + 32);
  uint32_t num_saved = 0;
  {
    const at::NoGradGuard no_grad;
    if (stc_error* error =
            callbacks->function().forward(callbacks->ctx(), raw_inputs, num_inputs, outputs.data(), num_outputs,
                                          saved.data(), static_cast<uint32_t>(saved.size()), &num_saved)) {
      return error;
    }
  }
  if (num_saved > saved.size()) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, name + ": forward: saved " + std::to_string(num_saved) +
                                                      " tensors, allowed " + std::to_string(saved.size()));
  }
  for (uint32_t i = 0; i < num_saved; ++i) {
    if (!saved.tensor(i).defined()) {
      return make_error(STC_ERROR_INVALID_ARGUMENT, name + ": forward: saved tensor " + std::to_string(i) + " is null");
    }
  }
  const std::vector<at::Tensor> results = take_outputs(outputs, inputs, name);
  if (wants_gradients(inputs)) link(std::move(callbacks), inputs, results, outputs, saved, num_saved);
  for (uint32_t i = 0; i < num_outputs; ++i) out[i] = to_handle(results[i]);
  return nullptr;
}

}  // namespace

stc_error* autograd_apply(void*, const stc_autograd_function* function, void* function_ctx, const stc_tensor* inputs,
                          uint32_t num_inputs, stc_tensor* outputs, uint32_t num_outputs) {
  if (function == nullptr || function->struct_size < STC_SIZE_TO_END(stc_autograd_function, release) ||
      (inputs == nullptr && num_inputs > 0) || (outputs == nullptr && num_outputs > 0)) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "autograd_apply: function, inputs and outputs must be given");
  }
  try {
    return apply(function, function_ctx, inputs, num_inputs, outputs, num_outputs);
  } catch (const c10::Error& error) {
    return make_error(STC_ERROR_TORCH, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  } catch (...) {
    return make_error(STC_ERROR_INTERNAL, describe_current_exception());
  }
}

}  // namespace stc::host
