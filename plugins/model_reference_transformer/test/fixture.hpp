/// \file
/// Small models and batches for the tests.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "random.hpp"
#include "transformer.hpp"

namespace stc::reference_transformer {

inline Config small_config() {
  Config config;
  config.vocab_size = 128;
  config.block_size = 32;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_kv_head = 2;
  config.d_model = 64;
  config.d_ff = 128;
  return config;
}

/// Autocast to bf16 on the CPU while it lives, when wanted.
class Bf16 {
 public:
  explicit Bf16(bool wanted = true) { at::autocast::set_autocast_enabled(at::kCPU, wanted); }
  ~Bf16() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
  }
  Bf16(const Bf16&) = delete;
  Bf16& operator=(const Bf16&) = delete;
};

/// Every loop split into `ways` parts, each on its own thread.
inline Parallel threads(int ways) {
  Parallel out;
  out.ctx = reinterpret_cast<void*>(static_cast<intptr_t>(ways));
  out.run = [](void* ctx, int64_t n, int64_t, Parallel::Body body, void* arg) {
    const int64_t parts = reinterpret_cast<intptr_t>(ctx);
    std::vector<std::thread> pool;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t begin = n * i / parts;
      const int64_t end = n * (i + 1) / parts;
      if (begin < end) pool.emplace_back([=] { body(arg, begin, end); });
    }
    for (std::thread& thread : pool) thread.join();
  };
  return out;
}

struct Batch {
  at::Tensor ids, labels, mask;
};

inline Batch make_batch(int64_t rows, int64_t time, int64_t vocab, uint64_t seed) {
  Batch out;
  out.ids = at::empty({rows, time}, at::kLong);
  out.labels = at::empty({rows, time}, at::kLong);
  for (int64_t i = 0; i < rows * time; ++i) {
    const auto n = static_cast<uint64_t>(i);
    out.ids.data_ptr<int64_t>()[i] = static_cast<int64_t>(random64(seed, n) % static_cast<uint64_t>(vocab));
    out.labels.data_ptr<int64_t>()[i] = static_cast<int64_t>(random64(seed + 1, n) % static_cast<uint64_t>(vocab));
  }
  return out;
}

/// Masks `count` positions of each row, from the left or the right; their labels are ignored.
inline void pad(Batch& batch, int64_t row, int64_t count, bool left) {
  if (!batch.mask.defined()) batch.mask = at::ones(batch.ids.sizes(), at::kBool);
  const int64_t begin = left ? 0 : batch.ids.size(1) - count;
  batch.mask[row].narrow(0, begin, count).fill_(false);
  batch.labels[row].narrow(0, begin, count).fill_(-100);
}

enum class Padding { kNone, kRight, kLeft, kWholeRow, kHoles };

/// Half of row 1, all of row 2, or about a third of the keys anywhere, whose labels count.
inline void pad(Batch& batch, Padding padding) {
  const int64_t time = batch.ids.size(1);
  if (padding == Padding::kRight) pad(batch, 1, time / 2, false);
  if (padding == Padding::kLeft) pad(batch, 1, time / 2, true);
  if (padding == Padding::kWholeRow) pad(batch, 2, time, true);
  if (padding != Padding::kHoles) return;
  batch.mask = at::empty(batch.ids.sizes(), at::kBool);
  for (int64_t i = 0; i < batch.mask.numel(); ++i) {
    batch.mask.data_ptr<bool>()[i] = random64(9, static_cast<uint64_t>(i)) % 3 != 0;
  }
}

/// Larger than the initial 0.02, so that attention and norms are far from linear.
inline void spread_weights(Transformer& model) {
  at::NoGradGuard no_grad;
  for (Leaf& leaf : model.parameters().leaves) {
    if (leaf.value.dim() == 2) {
      leaf.value.mul_(6.0);
    } else {
      leaf.value.add_(at::sin(at::arange(leaf.value.numel(), at::kFloat)), 0.3);
    }
  }
}

/// Gradients of all leaves, copied.
inline std::vector<at::Tensor> gradients(Transformer& model) {
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < model.parameters().leaves.size(); ++i) out.push_back(model.gradient(i).clone());
  return out;
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(),
                                               static_cast<size_t>(a.numel()) * a.element_size()) == 0;
}

/// Largest difference over the largest value of `b`.
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const double scale = b.abs().max().item<double>();
  return (a - b).abs().max().item<double>() / std::max(scale, 1e-30);
}

/// The largest relative_difference of two lists of gradients. A gradient below a hundredth of the
/// largest one is measured against that hundredth: where its exact value is 0 (the query matrix of
/// one-position sequences), only rounding is left.
inline double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double top = 0.0;
  for (const at::Tensor& t : b) top = std::max(top, t.abs().max().item<double>());
  double out = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double scale = std::max(b[i].abs().max().item<double>(), 1e-2 * top);
    out = std::max(out, (a[i] - b[i]).abs().max().item<double>() / scale);
  }
  return out;
}

inline bool finite(const at::Tensor& t) { return at::isfinite(t).all().item<bool>(); }

}  // namespace stc::reference_transformer
