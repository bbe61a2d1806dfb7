/// \file
/// The differentiable pieces of the model, in two forms that compute the same: composed of LibTorch's
/// operators (any device, any precision), and own kernels with own backward on the CPU, in fp32 or with
/// products of values rounded to bf16.
///
/// Legend: B rows, T positions, N = B*T, C model width, H query heads, K key/value heads, G = H/K,
/// D head size, F MLP width, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gemm/parallel.hpp"
#include "kernels.hpp"
#include "parameters.hpp"

namespace stc::reference_transformer {

using gemm::Parallel;

/// Rotary tables: cos and sin of position * base^(-2j/D), each (T, D/2) fp32.
struct Rope {
  at::Tensor cos;
  at::Tensor sin;
  Rope head(int64_t length) const;  // the first positions
};
Rope make_rope(int64_t positions, int64_t head_dim, double base, at::Device device);

/// What attention needs to know beyond its input.
struct AttentionInfo {
  HeadShape shape;
  Rope rope;        // of at least T positions
  at::Tensor mask;  // (B,T) bool, true where a key may be seen; undefined: all
  Dropout dropout;
};

/// Weights are named by slice; their gradients go to the slice's buffer, never through the graph of
/// the caller. Every function keeps `parameters` alive as long as its graph.
class Functions {
 public:
  explicit Functions(std::shared_ptr<Parameters> parameters) : parameters_(std::move(parameters)) {}
  virtual ~Functions() = default;

  /// Called once before a forward that records: prepares the gradient buffers.
  virtual void start(bool accumulate) = 0;
  /// ids (N) int64 in range -> (N,C), times the dropout mask.
  virtual at::Tensor embed(const at::Tensor& ids, const Dropout& dropout) = 0;
  /// x (N,C) -> RMSNorm(x), eps 1e-5, computed in fp32.
  virtual at::Tensor norm(const at::Tensor& x, Slice& weight) = 0;
  /// s = x + branch * masks; returns {s, norm(s)}.
  virtual std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch,
                                                     const Dropout& mask1, const Dropout& mask2, Slice& weight) = 0;
  /// x (N, cols) @ weight^T -> (N, rows). In bf16 of the own kernels the result is not rounded yet: the
  /// function that reads it does.
  virtual at::Tensor linear(const at::Tensor& x, Slice& weight) = 0;
  /// linear whose result leaves the model, rounded.
  virtual at::Tensor logits(const at::Tensor& x, Slice& weight) { return linear(x, weight); }
  /// qkv (N, (H+2K)*D) -> causal attention with rotary positions, (N, H*D).
  virtual at::Tensor attention(const at::Tensor& qkv, const AttentionInfo& info) = 0;
  /// (N, 2F), gate then up -> silu(gate) * up (N, F).
  virtual at::Tensor swiglu(const at::Tensor& gate_up) = 0;
  /// Mean of -log softmax(x @ weight^T)[label] over labels (N) int64 other than -100; 0 where there
  /// are none. Labels must be in range.
  virtual at::Tensor head_loss(const at::Tensor& x, const at::Tensor& labels, Slice& weight) = 0;

  const std::shared_ptr<Parameters>& parameters() const { return parameters_; }

 protected:
  std::shared_ptr<Parameters> parameters_;
};

/// LibTorch's operators only.
std::shared_ptr<Functions> make_composed_functions(std::shared_ptr<Parameters> parameters);
/// Own kernels; all tensors are contiguous fp32 on the CPU. \param kernels outlives the functions. \param bf16
/// what autocast to bf16 would hold in bf16 is rounded to it; products are summed in fp32.
std::shared_ptr<Functions> make_cpu_functions(std::shared_ptr<Parameters> parameters, const KernelSet& kernels,
                                              Parallel parallel, bool bf16);

/// Renews the rounded copy of the weights where they have changed.
void refresh_bf16(Parameters& parameters, const Kernels& bf16_kernels, const Parallel& parallel);

/// Mean cross-entropy of logits (N,V) by LibTorch's operators; rules of head_loss.
at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& labels);

/// A pair of (N,C) activations; the second may be undefined.
using Activations = std::pair<at::Tensor, at::Tensor>;

/// body(input), keeping only the input: the body runs again in backward, with its gradients going to
/// the same buffers. Bodies draw only keyed random numbers, so both runs agree bit for bit.
Activations recompute(const std::function<Activations(const Activations&)>& body, const Activations& input);

}  // namespace stc::reference_transformer
