// The pieces of the model written in LibTorch's operators: any device, autocast included. Gradients
// reach the packed buffer through the named leaves, whose .grad are views of it.
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>

#include <cmath>

#include "functions.hpp"

namespace stc::reference_transformer {
namespace {

constexpr double kEpsilon = 1e-5;

/// x >> bits for the unsigned value that int64 x holds.
at::Tensor shift_right(const at::Tensor& x, int64_t bits) {
  return x.bitwise_right_shift(bits).bitwise_and((int64_t{1} << (64 - bits)) - 1);
}

at::Tensor mix(at::Tensor z) {
  z = (z.bitwise_xor(shift_right(z, 30))) * static_cast<int64_t>(0xBF58476D1CE4E5B9ULL);
  z = (z.bitwise_xor(shift_right(z, 27))) * static_cast<int64_t>(0x94D049BB133111EBULL);
  return z.bitwise_xor(shift_right(z, 31));
}

/// Dropout::factor for each element of a tensor like x, in 64-bit integer operators.
at::Tensor mask_like(const at::Tensor& x, const Dropout& dropout) {
  at::NoGradGuard no_grad;
  at::Tensor index = at::arange(1, x.numel() + 1, x.options().dtype(at::kLong));
  at::Tensor high = shift_right(mix(index * static_cast<int64_t>(kGamma) + static_cast<int64_t>(dropout.stream)), 32);
  return high.ge(static_cast<int64_t>(dropout.threshold)).view(x.sizes()).to(x.scalar_type()) *
         static_cast<double>(dropout.scale);
}

at::Tensor drop(const at::Tensor& x, const Dropout& dropout) {
  return dropout.active() ? x * mask_like(x, dropout) : x;
}

/// The slice as one matrix that autograd follows to the named leaves.
at::Tensor tracked(const Slice& weight) {
  return weight.leaves.size() == 1 ? weight.leaves.front() : at::cat(weight.leaves, 0);
}

/// x (B,heads,T,D) rotated by position. cos, sin (T, D/2).
at::Tensor rotate(const at::Tensor& x, const Rope& rope) {
  const int64_t half = x.size(-1) / 2;
  const at::Tensor low = x.narrow(-1, 0, half);
  const at::Tensor high = x.narrow(-1, half, half);
  const at::Tensor cos = rope.cos.to(x.scalar_type());
  const at::Tensor sin = rope.sin.to(x.scalar_type());
  return at::cat({low * cos - high * sin, high * cos + low * sin}, -1);
}

class ComposedFunctions final : public Functions {
 public:
  using Functions::Functions;

  /// Leaves accumulate in place, so the buffer starts a window at zero.
  void start(bool accumulate) override {
    if (!accumulate) parameters_->start_window();
    parameters_->settle_all();
  }

  at::Tensor embed(const at::Tensor& ids, const Dropout& dropout) override {
    return drop(at::embedding(tracked(parameters_->wte), ids), dropout);
  }

  at::Tensor norm(const at::Tensor& x, Slice& weight) override {
    const at::Tensor mean = x.to(at::kFloat).pow(2).mean(-1, /*keepdim=*/true);
    return x * at::rsqrt(mean + kEpsilon).to(x.scalar_type()) * tracked(weight);
  }

  std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch, const Dropout& mask1,
                                             const Dropout& mask2, Slice& weight) override {
    at::Tensor sum = x + drop(drop(branch, mask1), mask2);
    at::Tensor normed = norm(sum, weight);
    return {sum, normed};
  }

  at::Tensor linear(const at::Tensor& x, Slice& weight) override { return at::linear(x, tracked(weight)); }

  at::Tensor attention(const at::Tensor& qkv, const AttentionInfo& info) override {
    const HeadShape& s = info.shape;
    const Rope rope = info.rope.head(s.time);
    auto heads = [&](int64_t begin, int64_t count) {
      return qkv.narrow(1, begin * s.head_dim, count * s.head_dim)
          .view({s.rows, s.time, count, s.head_dim})
          .transpose(1, 2);
    };
    const at::Tensor q = rotate(heads(0, s.heads()), rope);
    at::Tensor k = rotate(heads(s.heads(), s.kv_heads), rope);
    at::Tensor v = heads(s.heads() + s.kv_heads, s.kv_heads);
    if (s.group > 1) {
      k = k.repeat_interleave(s.group, 1);
      v = v.repeat_interleave(s.group, 1);
    }
    const at::Tensor y = info.dropout.active() ? dropout_attention(q, k, v, info) : plain_attention(q, k, v, info);
    return y.transpose(1, 2).reshape({s.rows * s.time, s.model_dim()});
  }

  at::Tensor swiglu(const at::Tensor& gate_up) override {
    const int64_t f = gate_up.size(1) / 2;
    return at::silu(gate_up.narrow(1, 0, f)) * gate_up.narrow(1, f, f);
  }

  at::Tensor head_loss(const at::Tensor& x, const at::Tensor& labels, Slice& weight) override {
    return cross_entropy_of(linear(x, weight), labels);
  }

 private:
  /// True where query i sees key j: (T,T), or (B,1,T,T) with a mask.
  static at::Tensor visible(const AttentionInfo& info, at::Device device) {
    const int64_t t = info.shape.time;
    const at::Tensor causal = at::ones({t, t}, at::TensorOptions().dtype(at::kBool).device(device)).tril();
    return info.mask.defined() ? causal.logical_and(info.mask.unsqueeze(1).unsqueeze(2)) : causal;
  }

  static at::Tensor plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const AttentionInfo& info) {
    if (!info.mask.defined()) {
      return at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
    }
    return at::scaled_dot_product_attention(q, k, v, visible(info, q.device()));
  }

  /// LibTorch's attention draws its own mask, so a keyed one needs the product written out.
  static at::Tensor dropout_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const AttentionInfo& info) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(info.shape.head_dim));
    const at::Tensor seen = visible(info, q.device());
    const at::Tensor scores = (at::matmul(q, k.transpose(-2, -1)) * scale).to(at::kFloat);
    // A row that sees no key becomes zero, not NaN.
    const at::Tensor p = at::softmax(scores.masked_fill(seen.logical_not(), -1e30), -1) * seen;
    return at::matmul(drop(p, info.dropout).to(v.scalar_type()), v);
  }
};

}  // namespace

Rope make_rope(int64_t positions, int64_t head_dim, double base, at::Device device) {
  at::NoGradGuard no_grad;
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor exponent = at::arange(0, head_dim, 2, options) / static_cast<double>(head_dim);
  const at::Tensor frequency = at::pow(at::Scalar(base), exponent).reciprocal();
  const at::Tensor angle = at::outer(at::arange(positions, options), frequency);
  return {angle.cos(), angle.sin()};
}

Rope Rope::head(int64_t length) const { return {cos.narrow(0, 0, length), sin.narrow(0, 0, length)}; }

at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor total = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -100);
  return total / labels.ne(-100).sum().clamp_min(1);
}

std::shared_ptr<Functions> make_composed_functions(std::shared_ptr<Parameters> parameters) {
  return std::make_shared<ComposedFunctions>(std::move(parameters));
}

}  // namespace stc::reference_transformer
