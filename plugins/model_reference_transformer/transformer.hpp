/// \file
/// The reference transformer: decoder-only, pre-norm, bias-free; RMSNorm, rotary positions,
/// grouped-query attention, SwiGLU; the output matrix may be the input embedding.
///
///   x = wte[ids]; for each block: x = x + attn(ln1(x)); x = x + mlp(ln2(x)); logits = ln_f(x) @ head^T
///
/// Dropout acts on the embedding, on the attention probabilities, twice on the attention's output (in
/// the attention and in the block) and on the MLP's output.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config.hpp"
#include "functions.hpp"
#include "fused/fused.hpp"
#include "gemm/parallel.hpp"
#include "parameters.hpp"
#include "sites.hpp"

namespace stc::reference_transformer {

/// One forward.
struct ForwardPass {
  bool training = false;
  bool accumulate = false;  // gradients add to the window's; otherwise the next backward replaces them
  uint64_t dropout_key = 0;
};

struct ForwardOutput {
  at::Tensor loss;    // scalar; with labels
  at::Tensor logits;  // (B,T,V); without labels, and with labels outside of training
};

/// Keys and values of the positions so far.
struct Cache {
  int64_t rows = 0;
  int64_t max_length = 0;
  int64_t length = 0;
  std::vector<at::Tensor> keys;    // per block (B*K, 1, max_length, D), rotated
  std::vector<at::Tensor> values;  // the same shape
};

class Transformer {
 public:
  struct Options {
    at::Device device = at::kCPU;
    Parallel parallel;
    int64_t threads = 0;  // that `parallel` runs on, at most, for the fused pass; 0: LibTorch's number
    /// Only LibTorch's operators, also on the CPU: the reference for the own kernels.
    bool composed = false;
    const KernelSet* kernels = nullptr;  // null: the fastest
    /// Told when a block begins and ends: its stage may be given a stream of its own. May be empty.
    std::function<void(const std::string& stage, bool begin)> stage;
  };

  /// \throws stc::Fault when the sizes do not fit each other.
  Transformer(const Config& config, Options options);
  explicit Transformer(const Config& config) : Transformer(config, Options{}) {}

  const Config& config() const { return config_; }
  Parameters& parameters() { return *parameters_; }
  /// Weights from normal(0, 0.02), a function of seed and name.
  void init(uint64_t seed) { parameters_->init(seed); }
  /// The weights were written from outside.
  void parameters_changed() { parameters_->bf16_stale = true; }
  /// Blocks are computed again in backward instead of being kept.
  void set_gradient_checkpointing(bool enabled) { checkpointing_ = enabled; }
  /// The gradient of leaf `index`, exact for the current window: zero when nothing was written.
  at::Tensor gradient(size_t index);

  /// \param ids     (B,T) integers in [0, V); T at most the block size
  /// \param labels  (B,T), already shifted, -100 ignored; or undefined
  /// \param mask    (B,T), nonzero where a position is real; or undefined: all are
  /// Loss: mean over the labels that count, 0 when none does. Records autograd when gradient mode is on.
  /// \throws stc::Fault naming the sizes or the value at fault.
  ForwardOutput forward(const ForwardPass& pass, const at::Tensor& ids, const at::Tensor& labels,
                        const at::Tensor& mask);

  /// The fused pass: the plain mean loss of a batch with labels; `weight` times its gradients go to the packed
  /// buffer. Records no autograd. Under autocast to bf16, products are of values rounded to bf16.
  /// \throws stc::Fault as forward does; UNSUPPORTED with the reason, and nothing changed, where it cannot run.
  at::Tensor loss_and_grad(const ForwardPass& pass, double weight, const at::Tensor& ids, const at::Tensor& labels,
                           const at::Tensor& mask);
  /// Bytes that the fused pass holds for activations.
  size_t fused_bytes() const { return fused_ == nullptr ? 0 : fused_->arena_bytes(); }

  /// \throws stc::Fault when max_length exceeds the block size.
  Cache generate_begin(int64_t rows, int64_t max_length) const;
  /// Appends ids (B,t) and returns the logits (B,V) of the last position. Records no gradient.
  at::Tensor generate_step(Cache& cache, const at::Tensor& ids);

  /// Names of the blocks, in forward order.
  const std::vector<std::string>& stages() const { return stages_; }
  /// Sizes by module, named "<module>.<size>" as in "lm_head.out_features".
  std::vector<std::pair<std::string, int64_t>> dimensions() const;

 private:
  struct Checked {
    at::Tensor ids, targets, keys;
  };
  /// \throws stc::Fault naming the sizes or the value at fault.
  Checked check_batch(const at::Tensor& ids, const at::Tensor& labels, const at::Tensor& mask) const;
  /// qkv (N, (H+2K)*D) of block `index` -> (N, H*D).
  using Attend = std::function<at::Tensor(const at::Tensor& qkv, size_t index)>;

  /// The own kernels on the CPU, for fp32 and under autocast to bf16; else LibTorch's operators.
  const std::shared_ptr<Functions>& functions() const;
  /// Generation attends by LibTorch's operators, so under autocast it uses them alone.
  const std::shared_ptr<Functions>& generating_functions() const;
  /// {x, output of the previous block's MLP} -> the same of this block. The MLP's output is added by
  /// the norm that follows it. Uses nothing of the model: graphs may outlive it.
  static Activations block(Functions& f, size_t index, const Sites& sites, const Attend& attend,
                           const Activations& input);
  /// ids (B,T) -> ln_f(x) (N,C).
  at::Tensor hidden_states(const ForwardPass& pass, const at::Tensor& ids, const at::Tensor& mask) const;
  /// Runs body(input) as stage `index`: on the stream that `stage_` makes current for it.
  Activations run_stage(size_t index, const std::function<Activations(const Activations&)>& body,
                        const Activations& input) const;
  at::Tensor attend_cached(const at::Tensor& qkv, Cache& cache, size_t index, int64_t t) const;

  Config config_;
  at::Device device_;
  std::shared_ptr<Parameters> parameters_;
  std::shared_ptr<Functions> composed_;
  std::shared_ptr<Functions> cpu_;    // fp32; null on other devices
  std::shared_ptr<Functions> bf16_;   // the same with products in bf16
  std::unique_ptr<FusedPass> fused_;  // null where the own kernels are
  int64_t threads_ = 1;
  Rope rope_;
  std::function<void(const std::string&, bool)> stage_;
  std::vector<std::string> stages_;
  bool checkpointing_ = false;
};

}  // namespace stc::reference_transformer
