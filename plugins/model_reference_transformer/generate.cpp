// Generation with a cache of keys and values, in LibTorch's operators.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <string>

#include "inputs.hpp"
#include "stc/core/fault.hpp"
#include "transformer.hpp"

namespace stc::reference_transformer {
namespace {

/// x (B,t,heads,D) -> rotated by positions `begin`.., as (B*K, heads/K, t, D).
at::Tensor rotated_heads(const at::Tensor& x, const Rope& rope, int64_t begin, int64_t kv_heads) {
  const int64_t t = x.size(1);
  const int64_t half = x.size(3) / 2;
  const at::Tensor cos = rope.cos.narrow(0, begin, t).unsqueeze(1).to(x.scalar_type());
  const at::Tensor sin = rope.sin.narrow(0, begin, t).unsqueeze(1).to(x.scalar_type());
  const at::Tensor low = x.narrow(3, 0, half);
  const at::Tensor high = x.narrow(3, half, half);
  return at::cat({low * cos - high * sin, high * cos + low * sin}, 3)
      .transpose(1, 2)
      .reshape({x.size(0) * kv_heads, -1, t, x.size(3)});
}

}  // namespace

Cache Transformer::generate_begin(int64_t rows, int64_t max_length) const {
  if (rows <= 0)
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "generate: got " + std::to_string(rows) + " rows, expected > 0");
  if (max_length <= 0 || max_length > config_.block_size) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "generate: length " + std::to_string(max_length) +
                                                ", expected 1 to the block size " + std::to_string(config_.block_size));
  }
  Cache cache;
  cache.rows = rows;
  cache.max_length = max_length;
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device_);
  for (int64_t i = 0; i < config_.n_layer; ++i) {
    const std::vector<int64_t> sizes{rows * config_.n_kv_head, 1, max_length, config_.head_dim()};
    cache.keys.push_back(at::empty(sizes, options));
    cache.values.push_back(at::empty(sizes, options));
  }
  return cache;
}

/// qkv (B*t, (H+2K)*D) of the newest t positions -> (B*t, H*D).
at::Tensor Transformer::attend_cached(const at::Tensor& qkv, Cache& cache, size_t index, int64_t t) const {
  const int64_t d = config_.head_dim();
  const int64_t k_heads = config_.n_kv_head;
  const at::Tensor heads = qkv.view({cache.rows, t, config_.n_head + 2 * k_heads, d});
  const at::Tensor q = rotated_heads(heads.narrow(2, 0, config_.n_head), rope_, cache.length, k_heads);
  const at::Tensor k = rotated_heads(heads.narrow(2, config_.n_head, k_heads), rope_, cache.length, k_heads);
  const at::Tensor v = heads.narrow(2, config_.n_head + k_heads, k_heads).transpose(1, 2).reshape(k.sizes());
  cache.keys[index].narrow(2, cache.length, t).copy_(k);
  cache.values[index].narrow(2, cache.length, t).copy_(v);

  const int64_t total = cache.length + t;
  auto shared = [&](const at::Tensor& x) {
    return x.narrow(2, 0, total).expand({-1, config_.group(), -1, -1}).to(q.scalar_type());
  };
  std::optional<at::Tensor> visible;
  if (t > 1 && cache.length > 0) {
    const at::TensorOptions options = at::TensorOptions().dtype(at::kLong).device(device_);
    visible = at::arange(total, options).unsqueeze(0) <= at::arange(cache.length, total, options).unsqueeze(1);
  }
  const at::Tensor y = at::scaled_dot_product_attention(q, shared(cache.keys[index]), shared(cache.values[index]),
                                                        visible, 0.0, /*is_causal=*/t > 1 && cache.length == 0);
  return y.reshape({cache.rows, config_.n_head, t, d}).transpose(1, 2).reshape({cache.rows * t, config_.d_model});
}

at::Tensor Transformer::generate_step(Cache& cache, const at::Tensor& ids) {
  at::NoGradGuard no_grad;
  if (ids.dim() != 2 || ids.size(0) != cache.rows || ids.size(1) == 0) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "generate: ids of shape " + shape_text(ids) + ", expected (" +
                                                std::to_string(cache.rows) + ", at least 1)");
  }
  const int64_t t = ids.size(1);
  if (cache.length + t > cache.max_length) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "generate: " + std::to_string(cache.length + t) +
                                                " positions, the cache has " + std::to_string(cache.max_length));
  }
  const at::Tensor input = checked_ids(ids, config_.vocab_size, device_);
  Functions& f = *generating_functions();
  const Attend attend = [&](const at::Tensor& qkv, size_t index) { return attend_cached(qkv, cache, index, t); };
  Activations state{f.embed(input.view({-1}), Dropout{}), at::Tensor()};
  for (size_t i = 0; i < parameters_->blocks.size(); ++i) state = block(f, i, Sites{}, attend, state);
  cache.length += t;
  const at::Tensor x = f.add_norm(state.first, state.second, Dropout{}, Dropout{}, parameters_->ln_f).second;
  return f.linear(x.view({cache.rows, t, -1}).select(1, t - 1).contiguous(), parameters_->head());
}

}  // namespace stc::reference_transformer
