/// \file
/// Loss and gradients of a batch on the CPU as one straight sequence of products and kernels: no graph, no allocation,
/// all activations in one planned block.
///
/// Legend: B rows, T positions, N = B*T, C model width, F MLP width, V vocabulary, L blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "config.hpp"
#include "cpu_context.hpp"
#include "dropout_sites.hpp"
#include "functions.hpp"
#include "fused/arena.hpp"
#include "fused/attention.hpp"

namespace stc::reference_transformer::fused {

/// A checked batch (inputs.hpp).
struct Batch {
  int64_t rows = 0;
  int64_t time = 0;
  const int64_t* ids = nullptr;     // (N)
  const int64_t* labels = nullptr;  // (N), -100 ignored
  const bool* mask = nullptr;       // (N), null: nothing is padded
};

/// The pass of one model in one precision. Keeps its memory between passes. [train-thread]
class Pass {
 public:
  /// \param shared  kernels of the precision; outlives nothing, is kept alive.
  Pass(const Config& config, cpu::SharedPtr shared, Rope rope);

  /// The mean loss over the labels that count, 0 when none does. Gradients times `weight` go to the packed buffer,
  /// replacing those of an earlier window or adding to this one's. With `checkpointing` only the input of each block is
  /// kept and the rest computed again, to the same bits. \throws std::bad_alloc.
  double run(const Batch& batch, const DropoutSites& sites, double weight, bool checkpointing);

  /// Bytes of the planned block.
  size_t planned_bytes() const { return arena_.size(); }

 private:
  /// What backward needs of a block.
  struct BlockState {
    float* sum1 = nullptr;   // (N,C), what ln1 normed
    float* rstd1 = nullptr;  // (N)
    float* q = nullptr;      // (B,K,G,T,D), rotated
    float* k = nullptr;      // (B,K,T,D), rotated
    float* v = nullptr;
    float* logsumexp = nullptr;  // (B,H,T)
    float* attended = nullptr;   // (N,C)
    float* sum2 = nullptr;       // (N,C), what ln2 normed
    float* rstd2 = nullptr;
    float* gate_up = nullptr;  // (N,2F)
  };
  /// What no two blocks use at the same time.
  struct Scratch {
    float* normed = nullptr;  // (N,C)
    float* branch = nullptr;  // (N,C), what is added to the residual stream next
    float* wide = nullptr;    // (N, max(qkv, 2F)), a product's result or its gradient
    float* middle = nullptr;  // (N,F)
    float* d_middle = nullptr;
    float* d_sum[2] = {nullptr, nullptr};  // (N,C), gradient of the residual stream
    float* own_branch = nullptr;           // (N,C)
    float* d_branch = nullptr;             // own_branch, or d_sum[0] where both are the same
    float* d_normed = nullptr;             // (N,C)
    float* dq = nullptr;
    float* dk = nullptr;
    float* dv = nullptr;
    float* attention = nullptr;
    float* partial = nullptr;  // (chunks, C), parts of a norm's weight gradient
    float* sum = nullptr;      // (N,C), what ln_f normed
    float* rstd = nullptr;     // (N)
    float* logits = nullptr;   // (rows of a chunk, V)
    double* losses = nullptr;  // (N)
  };

  void plan(const Batch& batch, bool checkpointing);
  void lay_out(Planner& planner, bool checkpointing);
  AttentionInputs attention_of(const BlockState& state, size_t index) const;

  void embed();
  /// Residual stream and first norm; what is added is in scratch_.branch, but for block 0.
  void enter_block(size_t index);
  /// From the normed input in scratch_.normed to the input of the block's last product in scratch_.middle.
  void run_block(size_t index);
  double head(double weight);
  void block_backward(size_t index, bool checkpointing);
  void attention_part_backward(size_t index);
  void embed_backward();

  /// x (N, cols) W^T -> y (N, rows).
  void linear(const float* x, const Slice& weight, float* y) const;
  /// dW (+)= dy^T x; dx = dy W.
  void linear_backward(const float* dy, const float* x, Slice& weight, float* dx) const;
  void add_norm(const float* x, const float* branch, const Slice& weight, float* sum, float* rstd, const Dropout& mask1,
                const Dropout& mask2);
  /// d_sum[0] takes the gradient of the residual stream before the norm; d_branch that of what was added to it.
  void norm_backward(const float* sum, const float* rstd, Slice& weight, bool with_stream, const Dropout& mask1,
                     const Dropout& mask2);
  void normed_again(const float* sum, const float* rstd, const Slice& weight);
  template <class Fn>
  void rows(int64_t row_cost, Fn&& fn) const {
    shared_->parallel(n_, cpu::grain(row_cost), fn);
  }

  Config config_;
  cpu::SharedPtr shared_;
  Rope rope_;
  Arena arena_;
  HeadShape shape_;
  Batch batch_;
  DropoutSites sites_;
  int64_t n_ = 0;
  std::vector<BlockState> blocks_;
  Scratch scratch_;
};

}  // namespace stc::reference_transformer::fused
