/// \file
/// Nodes of the CPU implementation: what each function of functions_cpu.cpp saved, and its backward.
/// Weights are no inputs of the graph; their gradients are written straight into the packed buffer (beta 0 for
/// the first write of a window, 1 after), so that no zeroing and no second pass over them is needed. They
/// are summed in fp32 in both forms of the kernels.
/// Private to functions_cpu.cpp.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "functions.hpp"

namespace stc::reference_transformer::cpu {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// LibTorch changed the owner of nodes from shared_ptr to intrusive_ptr.
template <class N, class Base = Node>
auto make_node() {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Base>) {
    return c10::make_intrusive<N>();
  } else {
    return std::make_shared<N>();
  }
}

/// Inside, operators neither record nor look for autograd, and autocast does not touch their inputs.
class Raw {
 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

inline bool recording() { return at::GradMode::is_enabled(); }

inline at::Tensor empty_rows(int64_t rows, int64_t cols) { return at::empty({rows, cols}, at::kFloat); }

inline const float* data(const at::Tensor& t) { return t.const_data_ptr<float>(); }
inline float* out(at::Tensor& t) { return t.data_ptr<float>(); }

/// Rows per thread chunk when a row costs about `row_cost` element operations.
inline int64_t grain(int64_t row_cost) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row_cost)); }

/// Shared by the nodes of one model.
struct Shared {
  std::shared_ptr<Parameters> parameters;
  const Kernels& kernels;
  Parallel parallel;
  bool bf16 = false;  // products multiply what is rounded to bf16

  /// The weight as products use it.
  const at::Tensor& matrix(const Slice& weight) const { return bf16 ? weight.bf16 : weight.value; }
  const at::Tensor& transposed(const Slice& weight) const { return bf16 ? weight.bf16_transposed : weight.transposed; }
  /// Rounds each element to bf16, in place.
  void round(at::Tensor& x) const {
    parallel(x.numel(), grain(1), [&](int64_t begin, int64_t end) { kernels.round_bf16(data(x), out(x), begin, end); });
  }
};
using SharedPtr = std::shared_ptr<const Shared>;

/// dW (+)= dY^T X into the slice; `scale` multiplies the product.
inline void add_weight_gradient(Slice& weight, const at::Tensor& dy, const at::Tensor& x, double scale) {
  weight.grad.addmm_(dy.t(), x, weight.take_beta(), scale);
}

struct EmbedNode final : Node {
  SharedPtr shared;
  at::Tensor ids;
  Dropout dropout;

  std::string name() const override { return "stc::Embed"; }
  void release_variables() override { ids.reset(); }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return {};
    Raw raw;
    const at::Tensor g = grads[0].contiguous();
    Slice& weight = shared->parameters->wte;
    shared->parameters->settle(weight);
    const int64_t n = g.size(0);
    const int64_t c = g.size(1);
    shared->parallel(c, std::max<int64_t>(16, grain(n)), [&](int64_t begin, int64_t end) {
      shared->kernels.scatter_add(out(weight.grad), ids.const_data_ptr<int64_t>(), data(g), n, c, dropout, begin, end);
    });
    return {};
  }
};

struct NormNode final : Node {
  SharedPtr shared;
  Slice* weight = nullptr;
  at::Tensor sum;   // (N,C), what was normed
  at::Tensor rstd;  // (N)
  Dropout mask1, mask2;
  bool with_branch = false;

  std::string name() const override { return with_branch ? "stc::AddNorm" : "stc::Norm"; }
  void release_variables() override {
    sum.reset();
    rstd.reset();
  }
  /// grads: {d_normed} or {d_sum, d_normed}; any may be undefined.
  variable_list apply(variable_list&& grads) override {
    const at::Tensor& d_normed = with_branch ? grads[1] : grads[0];
    if (!d_normed.defined()) return with_branch ? pass_sum(grads[0]) : variable_list(1);
    Raw raw;
    const at::Tensor g = d_normed.contiguous();
    const at::Tensor direct = with_branch && grads[0].defined() ? grads[0].contiguous() : at::Tensor();
    const int64_t n = g.size(0);
    const int64_t c = g.size(1);
    at::Tensor dx = empty_rows(n, c);
    // The branch is a product's result: in bf16 its gradient is rounded, which that of the sum is not.
    const bool own_branch = with_branch && (shared->bf16 || mask1.active() || mask2.active());
    at::Tensor d_branch = own_branch ? empty_rows(n, c) : at::Tensor();
    // Chunks of rows do not depend on the threads, so that the sum over rows has one order.
    const int64_t chunk = std::max<int64_t>(16, (n + 15) / 16);
    const int64_t chunks = (n + chunk - 1) / chunk;
    at::Tensor partial = at::zeros({chunks, c}, at::kFloat);
    shared->parallel(chunks, std::max<int64_t>(1, grain(chunk * c)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        shared->kernels.add_rms_norm_backward(data(g), direct.defined() ? data(direct) : nullptr, data(sum),
                                              data(weight->value), data(rstd), out(dx),
                                              own_branch ? out(d_branch) : nullptr, out(partial) + i * c, c, mask1,
                                              mask2, i * chunk, std::min(n, (i + 1) * chunk));
      }
    });
    const float beta = weight->take_beta();
    float* total = out(weight->grad);
    for (int64_t j = 0; j < c; ++j) total[j] = beta == 0.0F ? 0.0F : total[j];
    for (int64_t i = 0; i < chunks; ++i) {
      const float* from = data(partial) + i * c;
      for (int64_t j = 0; j < c; ++j) total[j] += from[j];
    }
    if (!with_branch) return {dx};
    return {dx, own_branch ? d_branch : dx};
  }

 private:
  /// The norm's output was not used: only the sum carries a gradient.
  variable_list pass_sum(const at::Tensor& d_sum) const {
    if (!d_sum.defined()) return variable_list(2);
    Raw raw;
    const at::Tensor g = d_sum.contiguous();
    if (!shared->bf16 && !mask1.active() && !mask2.active()) return {g, g};
    at::Tensor d_branch = at::empty_like(g);
    float* to = out(d_branch);
    const float* from = data(g);
    for (int64_t i = 0; i < g.numel(); ++i) {
      const auto e = static_cast<uint64_t>(i);
      to[i] = from[i] * (mask1.active() ? mask1.factor(e) : 1.0F) * (mask2.active() ? mask2.factor(e) : 1.0F);
    }
    if (shared->bf16) shared->round(d_branch);
    return {g, d_branch};
  }
};

struct LinearNode final : Node {
  SharedPtr shared;
  Slice* weight = nullptr;
  at::Tensor x;               // (N, cols)
  bool from_outside = false;  // the gradient comes from operators that do not round it

  std::string name() const override { return "stc::Linear"; }
  void release_variables() override { x.reset(); }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    Raw raw;
    at::Tensor g = grads[0];
    if (from_outside && shared->bf16) {
      g = g.contiguous().clone();
      shared->round(g);
    }
    add_weight_gradient(*weight, g, x, 1.0);
    return {at::mm(g, shared->matrix(*weight))};
  }
};

struct SwigluNode final : Node {
  SharedPtr shared;
  at::Tensor gate_up;  // (N, 2F)

  std::string name() const override { return "stc::Swiglu"; }
  void release_variables() override { gate_up.reset(); }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    Raw raw;
    const at::Tensor g = grads[0].contiguous();
    const int64_t n = g.size(0);
    const int64_t f = g.size(1);
    at::Tensor dx = empty_rows(n, 2 * f);
    shared->parallel(n, grain(4 * f), [&](int64_t begin, int64_t end) {
      shared->kernels.swiglu_backward(data(g), data(gate_up), out(dx), f, begin, end);
    });
    return {dx};
  }
};

inline HeadStrides strides_of(const at::Tensor& heads) { return {heads.stride(0), heads.stride(1), heads.stride(2)}; }

/// (B*K, G, T, D) in the memory order (B*K, T, G, D), which LibTorch's attention writes.
inline at::Tensor empty_heads(const HeadShape& s) {
  return at::empty({s.rows * s.kv_heads, s.time, s.group, s.head_dim}, at::kFloat).transpose(1, 2);
}

/// -inf at masked keys, (B*K, 1, 1, T); undefined without a mask.
inline std::optional<at::Tensor> key_bias(const at::Tensor& mask, const HeadShape& s) {
  if (!mask.defined()) return std::nullopt;
  at::Tensor bias = at::zeros({s.rows, 1, s.time}, at::kFloat);
  bias.masked_fill_(mask.logical_not().unsqueeze(1), -std::numeric_limits<double>::infinity());
  return bias.expand({s.rows, s.kv_heads, s.time}).reshape({s.rows * s.kv_heads, 1, 1, s.time});
}

struct AttentionNode final : Node {
  SharedPtr shared;
  AttentionInfo info;
  std::optional<at::Tensor> bias;
  at::Tensor q;              // (B*K, G, T, D)
  at::Tensor k, v;           // (B*K, 1, T, D)
  at::Tensor result;         // (B*K, G, T, D) by strides; without dropout
  at::Tensor logsumexp;      // without dropout
  at::Tensor probabilities;  // (B*K, G*T, T); with dropout

  std::string name() const override { return "stc::Attention"; }
  void release_variables() override {
    for (at::Tensor* t : {&q, &k, &v, &result, &logsumexp, &probabilities, &info.mask}) t->reset();
    bias.reset();
  }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    Raw raw;
    return {info.dropout.active() ? dropout_backward(grads[0].contiguous()) : flash_backward(grads[0].contiguous())};
  }

  at::Tensor merge(const at::Tensor& heads) const {
    const HeadShape& s = info.shape;
    at::Tensor merged = empty_rows(s.rows * s.time, s.model_dim());
    const HeadStrides strides = strides_of(heads);
    shared->parallel(s.rows * s.time, grain(s.model_dim()), [&](int64_t begin, int64_t end) {
      shared->kernels.merge_heads(data(heads), strides, out(merged), s, begin, end);
    });
    return merged;
  }

  void unmerge(const at::Tensor& merged, at::Tensor& heads) const {
    const HeadShape& s = info.shape;
    const HeadStrides strides = strides_of(heads);
    shared->parallel(s.rows * s.time, grain(s.model_dim()), [&](int64_t begin, int64_t end) {
      shared->kernels.unmerge_heads(data(merged), out(heads), strides, s, begin, end);
    });
  }

  at::Tensor join(const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv) const {
    const HeadShape& s = info.shape;
    at::Tensor d_qkv = empty_rows(s.rows * s.time, s.qkv_dim());
    TORCH_INTERNAL_ASSERT(dk.strides() == dv.strides() && dq.stride(-1) == 1 && dk.stride(-1) == 1);
    shared->parallel(s.rows * s.time, grain(2 * s.qkv_dim()), [&](int64_t begin, int64_t end) {
      shared->kernels.split_heads_backward(data(dq), strides_of(dq), data(dk), data(dv), strides_of(dk),
                                           data(info.rope.cos), data(info.rope.sin), out(d_qkv), s, dk.size(1), begin,
                                           end);
    });
    return d_qkv;
  }

  /// The heads of one key head share k and v through a stride of 0; the gradients come per query head.
  at::Tensor flash_forward() {
    const HeadShape& s = info.shape;
    bias = key_bias(info.mask, s);
    std::tie(result, logsumexp) = at::_scaled_dot_product_flash_attention_for_cpu(
        q, k.expand({-1, s.group, -1, -1}), v.expand({-1, s.group, -1, -1}), 0.0, /*is_causal=*/true, bias);
    return merge(result);
  }

  at::Tensor flash_backward(const at::Tensor& g) const {
    const HeadShape& s = info.shape;
    at::Tensor d_result = empty_heads(s);
    unmerge(g, d_result);
    const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        d_result, q, k.expand({-1, s.group, -1, -1}), v.expand({-1, s.group, -1, -1}), result, logsumexp, 0.0,
        /*is_causal=*/true, bias);
    return join(dq, dk, dv);
  }

  float scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(info.shape.head_dim))); }
  /// The query heads of a key head as one matrix (B*K, G*T, D).
  at::Tensor rows_of(const at::Tensor& heads) const {
    const HeadShape& s = info.shape;
    return heads.view({s.rows * s.kv_heads, s.group * s.time, s.head_dim});
  }

  at::Tensor dropout_forward() {
    const HeadShape& s = info.shape;
    probabilities = at::bmm(rows_of(q), k.squeeze(1).transpose(1, 2));
    at::Tensor dropped = at::empty_like(probabilities);
    const bool* mask = info.mask.defined() ? info.mask.const_data_ptr<bool>() : nullptr;
    shared->parallel(s.rows * s.heads() * s.time, grain(8 * s.time), [&](int64_t begin, int64_t end) {
      shared->kernels.causal_softmax(out(probabilities), out(dropped), mask, scale(), s, info.dropout, begin, end);
    });
    return merge(at::bmm(dropped, v.squeeze(1)).view(q.sizes()));
  }

  at::Tensor dropout_backward(const at::Tensor& g) const {
    const HeadShape& s = info.shape;
    at::Tensor d_result = at::empty_like(q);
    unmerge(g, d_result);
    at::Tensor d_scores = at::bmm(rows_of(d_result), v.squeeze(1).transpose(1, 2));
    at::Tensor dropped = at::empty_like(probabilities);
    shared->parallel(s.rows * s.heads() * s.time, grain(8 * s.time), [&](int64_t begin, int64_t end) {
      shared->kernels.apply_mask(data(probabilities), out(dropped), s.time, info.dropout, begin, end);
      shared->kernels.causal_softmax_backward(data(probabilities), out(d_scores), scale(), s, info.dropout, begin, end);
    });
    const at::Tensor dv = at::bmm(dropped.transpose(1, 2), rows_of(d_result));
    const at::Tensor dq = at::bmm(d_scores, k.squeeze(1));
    const at::Tensor dk = at::bmm(d_scores.transpose(1, 2), rows_of(q));
    return join(dq.view(q.sizes()), dk.unsqueeze(1), dv.unsqueeze(1));
  }
};

struct HeadLossNode final : Node {
  SharedPtr shared;
  Slice* weight = nullptr;
  at::Tensor x;         // (N,C)
  at::Tensor d_logits;  // (N,V): softmax - onehot, zero in ignored rows
  int64_t valid = 0;    // labels that count

  std::string name() const override { return "stc::HeadLoss"; }
  void release_variables() override {
    x.reset();
    d_logits.reset();
  }
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    Raw raw;
    const double scale = valid == 0 ? 0.0 : grads[0].item<double>() / static_cast<double>(valid);
    add_weight_gradient(*weight, d_logits, x, scale);
    at::Tensor dx = empty_rows(x.size(0), x.size(1));
    dx.addmm_(d_logits, shared->matrix(*weight), 0.0, scale);
    return {dx};
  }
};

}  // namespace stc::reference_transformer::cpu
