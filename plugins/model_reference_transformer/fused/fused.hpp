/// \file
/// Loss and gradients of a micro-batch on the CPU without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../config.hpp"
#include "../functions.hpp"
#include "arena.hpp"
#include "pass.hpp"

namespace stc::reference_transformer {

/// A checked micro-batch: ids and labels (N) in range, mask (B,T) bool or undefined.
struct FusedBatch {
  at::Tensor ids, labels, mask;
  int64_t rows = 0;
  int64_t time = 0;
};

struct FusedRequest {
  Sites sites;
  double weight = 1.0;      // multiplies the gradients, not the loss
  bool accumulate = false;  // gradients add to the window's
  bool checkpointing = false;
  bool bf16 = false;
  int64_t threads = 1;  // results are equal in bits for equal numbers
};

/// Owns the planned memory of the activations. [train-thread]
///
/// Small models: every thread runs the whole pass on its own rows, with a gradient buffer of its own. Larger ones:
/// the threads share each loop and product.
class FusedPass {
 public:
  FusedPass(const Config& config, std::shared_ptr<Parameters> parameters, const KernelSet& kernels, Parallel parallel)
      : config_(config), parameters_(std::move(parameters)), kernels_(kernels), parallel_(parallel) {}

  /// Why a batch cannot be computed here; null: it can.
  const char* refusal(int64_t rows, int64_t time) const;
  /// Returns the mean loss over the labels that count, 0 where none does; gradients go to the packed buffer.
  at::Tensor run(const FusedRequest& request, const FusedBatch& batch, const Rope& rope);
  /// Memory of the activations.
  size_t arena_bytes() const { return arena_.size(); }

 private:
  void prepare(const PassShape& shape);
  void run_workers(const PassBatch& batch);
  PassWeights weights(size_t worker, bool bf16);
  void add_worker_gradients();

  Config config_;
  std::shared_ptr<Parameters> parameters_;
  const KernelSet& kernels_;
  Parallel parallel_;
  Arena arena_;
  PassShape shape_;
  Buffers buffers_;
  const float* d_embedded_ = nullptr;  // (N,C), of the last run
};

}  // namespace stc::reference_transformer
