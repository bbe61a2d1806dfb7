/// \file
/// The model once more in double precision and LibTorch's autograd, written from its description (README.md) alone: the
/// reference that the passes in fp32 are measured by.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <limits>
#include <map>
#include <string>

#include "dropout_sites.hpp"
#include "fixture.hpp"

namespace stc::reference_transformer {

/// The mask of a site for a tensor like x, in double.
inline at::Tensor mask64(const at::Tensor& x, const Dropout& dropout) {
  at::Tensor mask = at::ones(x.sizes(), at::kDouble);
  if (!dropout.active()) return mask;
  for (int64_t i = 0; i < mask.numel(); ++i) {
    mask.data_ptr<double>()[i] = static_cast<double>(dropout.factor(static_cast<uint64_t>(i)));
  }
  return mask;
}

class Reference64 {
 public:
  /// Copies the weights.
  explicit Reference64(Transformer& model) : config_(model.config()) {
    for (const Leaf& leaf : model.parameters().leaves) {
      names_.push_back(leaf.name);
      w_[leaf.name] = leaf.value.detach().to(at::kDouble).requires_grad_();
    }
  }

  /// Adds gradients times `weight`. \returns the loss.
  double run(const Batch& batch, const DropoutSites& sites, double weight) {
    const int64_t b = batch.ids.size(0), t = batch.ids.size(1);
    at::Tensor x = at::embedding(w_.at("transformer.wte.weight"), batch.ids).view({b * t, config_.d_model});
    x = x * mask64(x, sites.embedding());
    for (int64_t i = 0; i < config_.n_layer; ++i) x = block(x, i, batch, sites);
    x = norm(x, "transformer.ln_f.weight");
    const std::string head = config_.tie_weights ? "transformer.wte.weight" : "lm_head.weight";
    const at::Tensor logs = at::log_softmax(at::matmul(x, w_.at(head).t()), -1);
    const at::Tensor labels = batch.labels.view({-1});
    const at::Tensor counted = labels.ne(-100);
    const auto valid = counted.sum().item<int64_t>();
    if (valid == 0) return 0.0;
    const at::Tensor own = logs.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
    const at::Tensor loss = -(own * counted.to(at::kDouble)).sum() / static_cast<double>(valid);
    (loss * weight).backward();
    return loss.item<double>();
  }

  /// In the order of the leaves; zeros where none arrived.
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> out;
    for (const std::string& name : names_) {
      const at::Tensor& w = w_.at(name);
      out.push_back(w.grad().defined() ? w.grad().clone() : at::zeros_like(w));
    }
    return out;
  }

 private:
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return x * at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + 1e-5) * w_.at(name);
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const { return at::matmul(x, w_.at(name).t()); }

  /// (N, heads*D) -> (B, heads, T, D)
  static at::Tensor split(const at::Tensor& x, int64_t b, int64_t t, int64_t heads) {
    return x.view({b, t, heads, -1}).transpose(1, 2);
  }
  at::Tensor rotate(const at::Tensor& x) const {
    const int64_t half = config_.head_dim() / 2;
    const at::Tensor pair = at::arange(half, at::kDouble) * (-2.0 / static_cast<double>(config_.head_dim()));
    const at::Tensor angle = at::outer(at::arange(x.size(2), at::kDouble), at::pow(config_.rope_base, pair));
    const at::Tensor low = x.narrow(-1, 0, half), high = x.narrow(-1, half, half);
    return at::cat({low * angle.cos() - high * angle.sin(), high * angle.cos() + low * angle.sin()}, -1);
  }

  at::Tensor attention(const at::Tensor& x, const std::string& prefix, const Batch& batch, const Dropout& dropout) {
    const int64_t b = batch.ids.size(0), t = batch.ids.size(1);
    const at::Tensor q = rotate(split(linear(x, prefix + "q_proj.weight"), b, t, config_.n_head));
    const at::Tensor k = rotate(split(linear(x, prefix + "k_proj.weight"), b, t, config_.n_kv_head));
    const at::Tensor v = split(linear(x, prefix + "v_proj.weight"), b, t, config_.n_kv_head);
    const at::Tensor keys = k.repeat_interleave(config_.group(), 1), values = v.repeat_interleave(config_.group(), 1);
    at::Tensor seen = at::ones({t, t}, at::kBool).tril().view({1, 1, t, t}).expand({b, 1, t, t});
    if (batch.mask.defined()) seen = seen.logical_and(batch.mask.to(at::kBool).view({b, 1, 1, t}));
    const at::Tensor scores = at::matmul(q, keys.transpose(2, 3)) / std::sqrt(static_cast<double>(config_.head_dim()));
    const at::Tensor p = at::softmax(scores.masked_fill(seen.logical_not(), -1e300), -1) * seen.to(at::kDouble);
    const at::Tensor y = at::matmul(p * mask64(p, dropout), values);
    return linear(y.transpose(1, 2).reshape({b * t, config_.d_model}), prefix + "out_proj.weight");
  }

  at::Tensor block(at::Tensor x, int64_t index, const Batch& batch, const DropoutSites& sites) {
    const std::string prefix = "transformer.h." + std::to_string(index) + ".";
    const auto site = [&](DropoutSite s) { return sites.at(static_cast<size_t>(index), s); };
    const at::Tensor y =
        attention(norm(x, prefix + "ln1.weight"), prefix + "attn.", batch, site(DropoutSite::kProbabilities));
    x = x + y * mask64(y, site(DropoutSite::kAttentionOutput)) * mask64(y, site(DropoutSite::kBlock));
    const at::Tensor h = norm(x, prefix + "ln2.weight");
    const at::Tensor z =
        linear(at::silu(linear(h, prefix + "mlp.gate_proj.weight")) * linear(h, prefix + "mlp.up_proj.weight"),
               prefix + "mlp.down_proj.weight");
    return x + z * mask64(z, site(DropoutSite::kMlp));
  }

  Config config_;
  std::vector<std::string> names_;
  std::map<std::string, at::Tensor> w_;
};

}  // namespace stc::reference_transformer
