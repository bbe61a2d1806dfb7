/// \file
/// Weights and gradients: one packed buffer each, with named views.
///
/// Matrices that multiply the same input lie next to each other, so that one product serves them:
/// q, k, v of a block are the rows of one (C + 2*Ckv, C) matrix, gate and up of one (2*F, C) matrix.
/// Legend: V vocabulary, C model width, Ckv key/value width, F MLP width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config.hpp"

namespace stc::reference_transformer {

/// One weight as the functions see it: a slice of the packed buffers.
struct Slice {
  at::Tensor value;       // (rows, cols) or (C); records no gradient
  at::Tensor transposed;  // view of value, (cols, rows); matrices only
  at::Tensor bf16;        // value rounded to bf16, kept in fp32; matrices, after allocate_bf16
  at::Tensor bf16_transposed;
  at::Tensor grad;                 // same shape as value
  std::vector<at::Tensor> leaves;  // the named tensors whose rows value holds, in order
  bool stale = true;               // grad holds an earlier window: the next write replaces it

  /// Factor on what grad holds for a write that adds to it: 0 for the first write of a window.
  float take_beta() {
    const float beta = stale ? 0.0F : 1.0F;
    stale = false;
    return beta;
  }
};

/// A parameter under its state_dict name.
struct Leaf {
  std::string name;
  std::vector<std::string> aliases;
  int32_t role = 0;  // STC_ROLE_*
  at::Tensor value;  // leaf of autograd; a view of the packed buffer; .grad is `grad`
  at::Tensor grad;   // view of the packed gradient buffer
  Slice* slice = nullptr;
};

struct BlockWeights {
  Slice ln1, qkv, out, ln2, gate_up, down;
};

/// Storage never moves; pointers to slices stay valid for the life of the object.
class Parameters {
 public:
  /// Zeros everywhere but ones in norms; fp32 on `device`.
  Parameters(const Config& config, at::Device device);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  std::vector<Leaf> leaves;  // order of the state_dict
  std::vector<BlockWeights> blocks;
  Slice wte;   // (V, C)
  Slice ln_f;  // (C)
  Slice& head() { return tied_ ? wte : head_; }
  at::Tensor values;     // all weights, flat; slices start at multiples of 64 bytes
  at::Tensor gradients;  // all gradients, flat, same offsets

  /// The weights rounded to bf16, same offsets: the factors of products in bf16. Undefined until
  /// allocate_bf16; whoever multiplies refreshes it while it is stale.
  at::Tensor bf16_values;
  bool bf16_stale = true;
  void allocate_bf16();

  /// Draws weights from normal(0, 0.02), each from its own stream of (seed, name); norms are ones.
  void init(uint64_t seed);
  /// Gradients of earlier windows are replaced by the next backward.
  void start_window();
  /// Zeroes what the current window has not written; afterwards gradients are exact for it.
  void settle(Slice& slice);
  void settle_all();

  /// visit(Slice&) in the order of the packed buffers.
  template <class Visit>
  void visit_slices(Visit&& visit) {
    visit(wte);
    for (BlockWeights& block : blocks) {
      for (Slice* slice : {&block.ln1, &block.qkv, &block.out, &block.ln2, &block.gate_up, &block.down}) visit(*slice);
    }
    visit(ln_f);
    if (!tied_) visit(head_);
  }

 private:
  bool tied_;
  Slice head_;
};

}  // namespace stc::reference_transformer
