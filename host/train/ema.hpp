/// \file
/// A moving average of the weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/checkpoint/store.hpp"
#include "host/config/settings.hpp"
#include "host/train/host_copies.hpp"
#include "host/train/model.hpp"

namespace stc::host {

/// average = decay * average + (1 - decay) * weights, every `every` optimizer steps, for each
/// trainable parameter, in fp32 and in one packed buffer. It begins at the weights of its
/// construction. What is not trained is not averaged: it is the model's own. [train-thread]
///
/// Elements are independent of each other: the same bits for any number of threads.
class Ema {
 public:
  /// Copies the present weights. The parameters are borrowed from the model.
  Ema(const EmaSettings& settings, const std::vector<ModelParameter>& parameters);
  /// Takes in the weights after `step` completed optimizer steps, when that step is due. Allocates
  /// nothing for parameters that are contiguous fp32 in host memory.
  void update(uint64_t step);
  /// Begins anew at the present weights.
  void restart();
  /// Exchanges average and weights, bit for bit; the second call is the way back. Whoever calls
  /// tells the model (parameters_changed). No update in between.
  void swap();
  /// Copies in host memory under the parameters' names, for ema.safetensors.
  std::vector<HostTensor> copy(HostCopies& copies) const;
  /// \throws CheckpointError listing each tensor that is missing, unknown, or of another shape or
  /// dtype.
  void load(const LoadedCheckpoint& checkpoint);

 private:
  struct Part {
    std::string name;
    at::Tensor weights;
    at::Tensor average;  // of packed_, in the shape of the weights
    at::Tensor aside;    // weights of another type than fp32, while swapped
    int64_t begin = 0;   // in packed_
  };
  /// fn(weights, average, n) over all elements, on all threads. Needs direct_.
  template <class Function>
  void for_all(const Function& function);

  EmaSettings settings_;
  at::Tensor packed_;
  std::vector<Part> parts_;
  bool direct_ = true;  // all weights are contiguous fp32 in host memory
  bool swapped_ = false;
};

/// Weights and average exchanged for a scope, and the model told both times.
class SwappedWeights {
 public:
  SwappedWeights(Ema& ema, Model& model);
  ~SwappedWeights();
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  Ema& ema_;
  Model& model_;
};

}  // namespace stc::host
