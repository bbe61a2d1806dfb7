#include "host/generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

at::Tensor to_ids(const std::vector<int32_t>& ids, size_t begin) {
  const auto count = static_cast<int64_t>(ids.size() - begin);
  at::Tensor tensor = at::empty({1, count}, at::kLong);
  std::copy(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end(), tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

/// Logits (V) of the next token from a forward over the last block.
std::vector<double> logits_by_forward(Model& model, const std::vector<int32_t>& ids, int64_t block_size) {
  const auto length = static_cast<int64_t>(ids.size());
  const at::Tensor input = to_ids(ids, static_cast<size_t>(std::max<int64_t>(0, length - block_size)));
  stc_pass_info info{};
  info.struct_size = sizeof(info);
  info.weight = 1.0;
  const ModelOutputs outputs = model.forward(info, {{"input_ids", borrow_handle(input)}});
  const stc_tensor logits = outputs.find("logits");
  if (logits == nullptr) throw TrainError("model " + model.name() + ": returned no logits to sample from");
  const at::Tensor last = to_tensor(logits).select(1, -1).reshape({-1}).to(at::kDouble).contiguous();
  const auto* values = last.const_data_ptr<double>();
  return {values, values + last.numel()};
}

/// The most likely token, or a draw from softmax(logits / temperature) over the top_k largest.
int32_t draw(const std::vector<double>& logits, const SamplerOptions& options, std::mt19937_64& random) {
  std::vector<int32_t> order(options.vocabulary > 0 ? std::min<size_t>(logits.size(), options.vocabulary)
                                                    : logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (options.temperature == 0.0) return order.front();
  size_t kept = order.size();
  if (options.top_k > 0) kept = std::min(kept, static_cast<size_t>(options.top_k));
  std::vector<double> cumulative(kept);
  double total = 0;
  for (size_t i = 0; i < kept; ++i) {
    total += std::exp((logits[order[i]] - logits[order[0]]) / options.temperature);
    cumulative[i] = total;
  }
  // 53 random bits: the same draw on every standard library.
  const double target = static_cast<double>(random() >> 11) * 0x1.0p-53 * total;
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), target);
  return order[std::min<size_t>(static_cast<size_t>(found - cumulative.begin()), kept - 1)];
}

/// Ends the model's cache on every way out.
class CacheGuard {
 public:
  CacheGuard(Model& model, int64_t length) : model_(model), cache_(model.generate_begin(1, length)) {}
  ~CacheGuard() { model_.generate_end(cache_); }
  CacheGuard(const CacheGuard&) = delete;
  CacheGuard& operator=(const CacheGuard&) = delete;
  std::vector<double> step(const at::Tensor& ids) {
    const TensorHandle logits = model_.generate_step(cache_, borrow_handle(ids));
    const at::Tensor row = to_tensor(logits.get()).reshape({-1}).to(at::kDouble).contiguous();
    const auto* values = row.const_data_ptr<double>();
    return {values, values + row.numel()};
  }

 private:
  Model& model_;
  stc_cache* cache_;
};

}  // namespace

void sample(Model& model, std::vector<int32_t> ids, const SamplerOptions& options,
            const std::function<void(int32_t)>& on_token) {
  const at::NoGradGuard no_grad;
  std::mt19937_64 random(options.seed);
  const int64_t total = static_cast<int64_t>(ids.size()) + options.max_tokens;
  if (model.has_generate() && total <= options.block_size) {
    CacheGuard cache(model, total);
    std::vector<double> logits = cache.step(to_ids(ids, 0));
    for (int64_t i = 0; i < options.max_tokens; ++i) {
      ids.push_back(draw(logits, options, random));
      on_token(ids.back());
      if (i + 1 < options.max_tokens) logits = cache.step(to_ids(ids, ids.size() - 1));
    }
    return;
  }
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    ids.push_back(draw(logits_by_forward(model, ids, options.block_size), options, random));
    on_token(ids.back());
  }
}

}  // namespace stc::host
