/// \file
/// The whole model in double precision by LibTorch's operators and autograd: the reference of the fused pass.
#pragma once

#include "fixture.hpp"

namespace stc::reference_transformer {

/// Loss and gradients of one micro-batch in double, from a model's weights.
class Reference64 {
 public:
  explicit Reference64(Transformer& model) : config_(model.config()) {
    for (const Leaf& leaf : model.parameters().leaves) {
      weights_.push_back(leaf.value.detach().to(at::kDouble).requires_grad_(true));
    }
  }

  /// Adds weight times the gradients; returns the loss.
  double add(const Batch& batch, uint64_t key, double weight) {
    rows_ = batch.ids.size(0);
    time_ = batch.ids.size(1);
    sites_ = {key, config_.dropout};
    visible_ = at::ones({time_, time_}, at::kBool).tril();
    if (batch.mask.defined()) visible_ = visible_.logical_and(batch.mask.ne(0).unsqueeze(1).unsqueeze(2));
    at::Tensor x = drop(at::embedding(weights_[0], batch.ids.view({-1})), sites_.embedding());
    const auto count = static_cast<size_t>(config_.n_layer);
    for (size_t i = 0; i < count; ++i) x = block(x, i);
    x = norm(x, weights_[1 + 9 * count]);
    const at::Tensor& head = config_.tie_weights ? weights_[0] : weights_.back();
    const at::Tensor loss = cross_entropy_of(at::matmul(x, head.t()), batch.labels.view({-1}));
    (loss * weight).backward();
    return loss.item<double>();
  }

  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> out;
    for (const at::Tensor& w : weights_) out.push_back(w.grad().defined() ? w.grad() : at::zeros_like(w));
    return out;
  }

 private:
  static at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5) * weight;
  }

  static at::Tensor drop(const at::Tensor& x, const Dropout& dropout) {
    if (!dropout.active()) return x;
    at::Tensor factors = at::empty(x.sizes(), at::kDouble);
    for (int64_t i = 0; i < x.numel(); ++i) {
      factors.data_ptr<double>()[i] = dropout.factor(static_cast<uint64_t>(i));
    }
    return x * factors;
  }

  /// (N, n*D) -> (B, n, T, D)
  at::Tensor heads(const at::Tensor& x) const { return x.view({rows_, time_, -1, config_.head_dim()}).transpose(1, 2); }

  at::Tensor rotated(const at::Tensor& x) const {
    const int64_t half = config_.head_dim() / 2;
    const at::Tensor exponent = at::arange(half, at::kDouble) * (-2.0 / static_cast<double>(config_.head_dim()));
    const at::Tensor angle =
        at::outer(at::arange(time_, at::kDouble), at::pow(at::Scalar(config_.rope_base), exponent));
    const at::Tensor low = x.narrow(-1, 0, half);
    const at::Tensor high = x.narrow(-1, half, half);
    return at::cat({low * angle.cos() - high * angle.sin(), high * angle.cos() + low * angle.sin()}, -1);
  }

  at::Tensor attention(const at::Tensor& normed, size_t i) const {
    auto weight = [&](size_t part) { return weights_[2 + 9 * i + part].t(); };
    const at::Tensor q = rotated(heads(at::matmul(normed, weight(0))));
    const at::Tensor k = rotated(heads(at::matmul(normed, weight(1)))).repeat_interleave(config_.group(), 1);
    const at::Tensor v = heads(at::matmul(normed, weight(2))).repeat_interleave(config_.group(), 1);
    const at::Tensor scores = at::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(config_.head_dim()));
    const at::Tensor p = at::softmax(scores.masked_fill(visible_.logical_not(), -1e30), -1) * visible_;
    const at::Tensor y = at::matmul(drop(p, sites_.at(i, DropoutSite::kProbabilities)), v);
    return at::matmul(y.transpose(1, 2).reshape({rows_ * time_, -1}), weight(3));
  }

  at::Tensor block(const at::Tensor& x, size_t i) const {
    const size_t first = 1 + 9 * i;  // ln1, q, k, v, out, ln2, gate, up, down
    const at::Tensor attended = attention(norm(x, weights_[first]), i);
    const at::Tensor sum =
        x + drop(drop(attended, sites_.at(i, DropoutSite::kAttentionOutput)), sites_.at(i, DropoutSite::kBlock));
    const at::Tensor normed = norm(sum, weights_[first + 5]);
    const at::Tensor act =
        at::silu(at::matmul(normed, weights_[first + 6].t())) * at::matmul(normed, weights_[first + 7].t());
    return sum + drop(at::matmul(act, weights_[first + 8].t()), sites_.at(i, DropoutSite::kMlp));
  }

  Config config_;
  std::vector<at::Tensor> weights_;
  int64_t rows_ = 0, time_ = 0;
  Sites sites_;
  at::Tensor visible_;
};

}  // namespace stc::reference_transformer
