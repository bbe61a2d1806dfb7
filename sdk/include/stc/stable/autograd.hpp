/// \file
/// Functions with a gradient of their own at level stable: the host builds the graph node.
///
///   struct Square {
///     std::vector<Tensor> forward(const std::vector<Tensor>& inputs, std::vector<Tensor>& saved) {
///       saved = inputs;
///       return {mul(inputs[0], inputs[0])};
///     }
///     std::vector<Tensor> backward(const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) {
///       return {mul(mul(saved[0], grads[0]), 2.0)};
///     }
///   };
///   Tensor y = apply(host, "square", Square{}, {x})[0];
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stc/core/guard.hpp"
#include "stc/core/host.hpp"
#include "stc/stable/tensor.hpp"

namespace stc::stable {
namespace detail {

/// What the graph node owns. `host` is a copy: the node may outlive the instance, but it is run only
/// while the instance lives.
template <class F>
struct AutogradCall {
  stc_host host;
  F function;

  static std::vector<Tensor> share_all(const stc_tensor* items, uint32_t count) {
    std::vector<Tensor> out;
    for (uint32_t i = 0; i < count; ++i) out.push_back(Tensor::share(items[i]));
    return out;
  }
  static void write(std::vector<Tensor>& from, stc_tensor* to) {
    for (Tensor& tensor : from) *to++ = tensor.release();
  }
  static stc_error* forward(void* ctx, const stc_tensor* inputs, uint32_t num_inputs, stc_tensor* outputs,
                            uint32_t num_outputs, stc_tensor* saved, uint32_t max_saved, uint32_t* num_saved) noexcept {
    auto& self = *static_cast<AutogradCall*>(ctx);
    return stc::detail::guarded(self.host, [&] {
      std::vector<Tensor> keep;
      std::vector<Tensor> results = self.function.forward(share_all(inputs, num_inputs), keep);
      if (results.size() != num_outputs || keep.size() > max_saved) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT, "forward gave " + std::to_string(results.size()) +
                                                    " results and saved " + std::to_string(keep.size()) +
                                                    ", expected " + std::to_string(num_outputs) + " and at most " +
                                                    std::to_string(max_saved));
      }
      write(results, outputs);
      write(keep, saved);
      *num_saved = static_cast<uint32_t>(keep.size());
    });
  }
  static stc_error* backward(void* ctx, const stc_tensor* saved, uint32_t num_saved, const stc_tensor* grad_outputs,
                             uint32_t num_outputs, stc_tensor* grad_inputs, uint32_t num_inputs) noexcept {
    auto& self = *static_cast<AutogradCall*>(ctx);
    return stc::detail::guarded(self.host, [&] {
      std::vector<Tensor> results =
          self.function.backward(share_all(saved, num_saved), share_all(grad_outputs, num_outputs));
      if (results.size() != num_inputs) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT, "backward gave " + std::to_string(results.size()) +
                                                    " gradients, expected " + std::to_string(num_inputs));
      }
      write(results, grad_inputs);
    });
  }
  static void release(void* ctx) { delete static_cast<AutogradCall*>(ctx); }
};

}  // namespace detail

/// Runs function.forward without recording and links the results to function.backward. The function
/// moves into the graph and dies with it. In backward an undefined gradient is zero; an undefined result
/// is no gradient. At most inputs + results + 32 tensors can be saved.
template <class F>
std::vector<Tensor> apply(const Host& host, const char* name, F function, const std::vector<Tensor>& inputs,
                          uint32_t num_outputs = 1) {
  using Call = detail::AutogradCall<F>;
  stc_autograd_function table{};
  table.struct_size = STC_SIZE_TO_END(stc_autograd_function, release);
  table.name = name;
  table.forward = &Call::forward;
  table.backward = &Call::backward;
  table.release = &Call::release;
  std::vector<stc_tensor> handles;
  for (const Tensor& input : inputs) handles.push_back(input.get());
  std::vector<stc_tensor> raw(num_outputs, nullptr);
  auto* call = new Call{host.raw(), std::move(function)};
  host.check(host.raw().autograd_apply(host.ctx(), &table, call, handles.data(), static_cast<uint32_t>(handles.size()),
                                       raw.data(), num_outputs));
  std::vector<Tensor> out;
  for (stc_tensor handle : raw) out.emplace_back(handle);
  return out;
}

}  // namespace stc::stable
