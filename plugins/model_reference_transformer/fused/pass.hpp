/// \file
/// Forward and backward of a range of batch rows, as a straight sequence of kernels and products.
#pragma once

#include <cstdint>
#include <vector>

#include "../config.hpp"
#include "../kernels.hpp"
#include "../sites.hpp"
#include "gemm/parallel.hpp"
#include "linear.hpp"
#include "plan.hpp"

namespace stc::reference_transformer {

using gemm::Parallel;

/// A weight of a pass: its values, and where its gradient goes.
struct PassWeight {
  const float* value = nullptr;
  float* grad = nullptr;
  float beta = 0.0F;  // what the gradient is multiplied by before ours is added; 0: it is not read
};

struct PassBlock {
  PassWeight ln1, qkv, out, ln2, gate_up, down;
};

struct PassWeights {
  std::vector<PassBlock> blocks;
  PassWeight ln_f, head;
};

/// One batch, the same for all workers.
struct PassBatch {
  const int64_t* ids = nullptr;      // (N)
  const int64_t* labels = nullptr;   // (N)
  const bool* mask = nullptr;        // (B,T) or null
  const float* embedding = nullptr;  // (V,C)
  const float* cos = nullptr;        // (T, D/2)
  const float* sin = nullptr;
  Sites sites;
  bool bf16 = false;        // weights and all that products read are values of bf16
  float loss_scale = 1.0F;  // of the gradients: weight over the number of valid labels
};

/// A worker's run. Deterministic: every sum has an order that depends on the shape and the rows alone.
class RowsPass {
 public:
  /// \param first, last  batch rows [first, last)
  /// \param parallel     threads for loops inside; the products use LibTorch's where its library computes them
  RowsPass(const Config& config, const PassShape& shape, const PassBatch& batch, const Kernels& kernels,
           Parallel parallel, Buffers& buffers, size_t worker, PassWeights weights, int64_t first, int64_t last);
  /// Writes losses of its rows, gradients of all weights but the embedding (the head's where tied), and
  /// the gradient of the embedded rows, to which it returns the pointer (N,C).
  const float* run();

 private:
  void forward_block(size_t i, bool again);
  void norm(const float* x, const float* branch, const PassWeight& weight, float* sum, float* rstd,
            const Dropout& mask1, const Dropout& mask2);
  void attend(size_t i);
  void head();
  void backward_block(size_t i);
  void attend_backward(size_t i);
  /// The gradient arrives in `branch`, and in dx_ when `direct`. Leaves it in dx_ and, of the branch, in grad_branch().
  void norm_backward(const float* sum, const float* rstd, const PassWeight& weight, bool direct, bool with_branch,
                     const Dropout& mask1, const Dropout& mask2);
  void weight_gradient(const float* dy, const float* x, const PassWeight& weight, int64_t in, int64_t out) const;
  void input_gradient(const float* dy, const PassWeight& weight, float* dx, int64_t in, int64_t out) const;
  Linear layer(int64_t in, int64_t out) const;  // over the rows of this worker
  void product(const float* x, const PassWeight& weight, float* y, int64_t in, int64_t out) const;
  void normed_again(const float* x, const float* rstd, const PassWeight& weight);
  AttentionCall attention_call(size_t i) const;
  float* dx() const { return buffers_.dx[current_]; }
  float* grad_branch() const { return shape_.own_branch ? buffers_.d_branch : dx(); }
  /// fn(begin, end) over the rows of this worker.
  template <class Fn>
  void over_rows(int64_t row_cost, Fn&& fn) const;

  const Config& config_;
  const PassShape& shape_;
  const PassBatch& batch_;
  const Kernels& kernels_;
  Parallel parallel_;
  Buffers& buffers_;
  WorkerBuffers& own_;
  PassWeights weights_;
  int64_t first_, last_;  // batch rows
  int64_t begin_, end_;   // positions
  size_t current_ = 0;    // of buffers_.dx
};

}  // namespace stc::reference_transformer
