#include "parameters.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "random.hpp"
#include "stc/abi/model.h"

namespace stc::reference_transformer {
namespace {

constexpr int64_t kAlignment = 16;  // floats: 64 bytes

/// Hands out consecutive, aligned places of the packed buffers.
class Packer {
 public:
  struct Part {
    const char* name;
    int64_t rows;  // 0: a vector of `cols`
    int32_t role;
  };

  int64_t size() const { return size_; }

  /// First round: only counts. Second round, after allocate: makes the views.
  void place(Parameters& parameters, Slice& slice, const std::string& prefix, std::initializer_list<Part> parts,
             int64_t cols) {
    const int64_t begin = (size_ + kAlignment - 1) / kAlignment * kAlignment;
    int64_t rows = 0;
    for (const Part& part : parts) rows += part.rows;
    size_ = begin + (rows == 0 ? cols : rows * cols);
    if (!parameters.values.defined()) return;

    slice.value = view(parameters.values, begin, rows, cols);
    slice.grad = view(parameters.gradients, begin, rows, cols);
    if (rows != 0) slice.transposed = slice.value.t();
    int64_t offset = begin;
    for (const Part& part : parts) {
      Leaf leaf;
      leaf.name = prefix + part.name;
      leaf.role = part.role;
      leaf.value = view(parameters.values, offset, part.rows, cols);
      leaf.grad = view(parameters.gradients, offset, part.rows, cols);
      leaf.value.requires_grad_(true);
      leaf.value.mutable_grad() = leaf.grad;
      leaf.slice = &slice;
      slice.leaves.push_back(leaf.value);
      offset += part.rows * cols;
      parameters.leaves.push_back(std::move(leaf));
    }
  }

 private:
  /// variable_data: an own variable on the same storage, not a view that autograd follows.
  static at::Tensor view(const at::Tensor& buffer, int64_t offset, int64_t rows, int64_t cols) {
    at::Tensor flat = buffer.narrow(0, offset, rows == 0 ? cols : rows * cols);
    return (rows == 0 ? flat : flat.view({rows, cols})).variable_data();
  }

  int64_t size_ = 0;
};

int64_t place_all(const Config& config, bool tied, Parameters& parameters, Slice& head) {
  const int64_t c = config.d_model;
  Packer packer;
  packer.place(parameters, parameters.wte, "transformer.wte.", {{"weight", config.vocab_size, STC_ROLE_EMBEDDING}}, c);
  for (int64_t i = 0; i < config.n_layer; ++i) {
    BlockWeights& block = parameters.blocks[static_cast<size_t>(i)];
    const std::string prefix = "transformer.h." + std::to_string(i) + ".";
    packer.place(parameters, block.ln1, prefix, {{"ln1.weight", 0, STC_ROLE_NORM}}, c);
    packer.place(parameters, block.qkv, prefix,
                 {{"attn.q_proj.weight", c, STC_ROLE_LINEAR},
                  {"attn.k_proj.weight", config.kv_dim(), STC_ROLE_LINEAR},
                  {"attn.v_proj.weight", config.kv_dim(), STC_ROLE_LINEAR}},
                 c);
    packer.place(parameters, block.out, prefix, {{"attn.out_proj.weight", c, STC_ROLE_LINEAR}}, c);
    packer.place(parameters, block.ln2, prefix, {{"ln2.weight", 0, STC_ROLE_NORM}}, c);
    packer.place(parameters, block.gate_up, prefix,
                 {{"mlp.gate_proj.weight", config.hidden(), STC_ROLE_LINEAR},
                  {"mlp.up_proj.weight", config.hidden(), STC_ROLE_LINEAR}},
                 c);
    packer.place(parameters, block.down, prefix, {{"mlp.down_proj.weight", c, STC_ROLE_LINEAR}}, config.hidden());
  }
  packer.place(parameters, parameters.ln_f, "transformer.", {{"ln_f.weight", 0, STC_ROLE_NORM}}, c);
  if (!tied) {
    packer.place(parameters, head, "", {{"lm_head.weight", config.vocab_size, STC_ROLE_HEAD}}, c);
  }
  return packer.size();
}

}  // namespace

Parameters::Parameters(const Config& config, at::Device device)
    : blocks(static_cast<size_t>(config.n_layer)), tied_(config.tie_weights) {
  at::NoGradGuard no_grad;
  const int64_t size = place_all(config, tied_, *this, head_);
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device);
  values = at::zeros({size}, options);
  gradients = at::zeros({size}, options);
  place_all(config, tied_, *this, head_);
  if (tied_) leaves.front().aliases.push_back("lm_head.weight");
  for (Leaf& leaf : leaves) {
    if (leaf.role == STC_ROLE_NORM) leaf.slice->value.fill_(1.0);
  }
}

void Parameters::init(uint64_t seed) {
  at::NoGradGuard no_grad;
  bf16_stale = true;
  for (Leaf& leaf : leaves) {
    if (leaf.role == STC_ROLE_NORM) {
      leaf.value.fill_(1.0);
      continue;
    }
    at::Generator generator = at::detail::createCPUGenerator(stream_seed(seed, leaf.name));
    if (leaf.value.is_cpu()) {
      leaf.value.normal_(0.0, 0.02, generator);
    } else {
      leaf.value.copy_(at::empty(leaf.value.sizes(), at::kFloat).normal_(0.0, 0.02, generator));
    }
  }
}

void Parameters::allocate_bf16() {
  at::NoGradGuard no_grad;
  bf16_values = at::empty_like(values);
  bf16_stale = true;
  visit_slices([this](Slice& slice) {
    if (slice.value.dim() != 2) return;
    const at::Tensor flat = bf16_values.narrow(0, slice.value.storage_offset(), slice.value.numel());
    slice.bf16 = flat.view(slice.value.sizes());
    slice.bf16_transposed = slice.bf16.t();
  });
}

void Parameters::start_window() {
  visit_slices([](Slice& slice) { slice.stale = true; });
}

void Parameters::settle(Slice& slice) {
  if (!slice.stale) return;
  at::NoGradGuard no_grad;
  slice.grad.zero_();
  slice.stale = false;
}

void Parameters::settle_all() {
  visit_slices([this](Slice& slice) { settle(slice); });
}

}  // namespace stc::reference_transformer
