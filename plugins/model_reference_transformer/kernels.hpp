/// \file
/// CPU kernels over fp32 arrays, over a range of rows; the caller splits the rows between threads. One set for
/// each instruction set, chosen once per process. Results do not depend on how rows are split.
///
/// Each exists in two forms. The bf16 form rounds to bf16 whatever autocast holds in bf16, and keeps it in fp32:
/// what a matrix product or the attention gives is rounded where it is read, what goes into one where it
/// is written, and every step between two of them that autocast runs in bf16. The residual stream, the
/// norms and the loss are fp32 in both.
///
/// Legend: N rows = B*T, C model width, H query heads, K key/value heads, G = H/K, D head size,
/// F MLP width, V vocabulary. Everything is dense and row-major unless strides are given.
#pragma once

#include <cstdint>

#include "fused/attention_call.hpp"
#include "fused/heads.hpp"
#include "random.hpp"

namespace stc::reference_transformer {

/// Where attention keeps its heads: a (B*K, G, T, D) array by strides, in elements; D is dense.
struct HeadStrides {
  int64_t batch = 0;  // from one (b, kv head) to the next
  int64_t group = 0;
  int64_t time = 0;
};

struct Kernels {
  /// out[i] = table[ids[i]] times the mask, for rows [begin, end).
  void (*gather)(const float* table, const int64_t* ids, float* out, int64_t C, Dropout dropout, int64_t begin,
                 int64_t end);
  /// table_grad[ids[i]] += grad[i] times the mask, over columns [begin, end) of all N rows: every
  /// element is summed in the order of the rows.
  void (*scatter_add)(float* table_grad, const int64_t* ids, const float* grad, int64_t N, int64_t C, Dropout dropout,
                      int64_t begin, int64_t end);
  /// sum = x + branch * mask1 * mask2 (when branch is given); rstd = 1/sqrt(mean(sum^2) + eps);
  /// normed = sum * rstd * weight. RMSNorm: Zhang and Sennrich, arXiv:1910.07467.
  void (*add_rms_norm)(const float* x, const float* branch, const float* weight, float* sum, float* normed, float* rstd,
                       int64_t C, Dropout mask1, Dropout mask2, int64_t begin, int64_t end);
  /// dx = d_sum (may be null) + the gradient through the norm; d_branch = dx * masks when given;
  /// d_weight (C) += over the rows of the range.
  void (*add_rms_norm_backward)(const float* d_normed, const float* d_sum, const float* sum, const float* weight,
                                const float* rstd, float* dx, float* d_branch, float* d_weight, int64_t C,
                                Dropout mask1, Dropout mask2, int64_t begin, int64_t end);
  /// Splits qkv (N, (H+2K)*D) into q (B,K,G,T,D), k and v (B,K,T,D) and rotates q and k by their
  /// positions: arXiv:2104.09864 in the rotate-half form. cos, sin: (T, D/2).
  void (*split_heads)(const float* qkv, const float* cos, const float* sin, float* q, float* k, float* v,
                      HeadShape shape, int64_t begin, int64_t end);
  /// The gradient of split_heads; dk and dv hold one row per query head (stride group) and are summed
  /// over the G of each key head (group 0: they hold one row per key head).
  void (*split_heads_backward)(const float* dq, HeadStrides q_strides, const float* dk, const float* dv,
                               HeadStrides kv_strides, const float* cos, const float* sin, float* d_qkv,
                               HeadShape shape, int64_t kv_copies, int64_t begin, int64_t end);
  /// (B*K,G,T,D) by strides to (N, H*D), for rows [begin, end) of N; and back.
  void (*merge_heads)(const float* heads, HeadStrides strides, float* merged, HeadShape shape, int64_t begin,
                      int64_t end);
  void (*unmerge_heads)(const float* merged, float* heads, HeadStrides strides, HeadShape shape, int64_t begin,
                        int64_t end);
  /// Scores (B,H,T,T) become probabilities in place: softmax(scale * score) over keys j <= i whose
  /// mask (B,T; may be null) is true; a row without keys becomes zero. dropped = probabilities times
  /// the mask of attention dropout. Rows [begin, end) of B*H*T.
  void (*causal_softmax)(float* scores, float* dropped, const bool* mask, float scale, HeadShape shape, Dropout dropout,
                         int64_t begin, int64_t end);
  /// d_scores = scale * P * (dP*mask - sum_j dP*mask*P), in place of dP.
  void (*causal_softmax_backward)(const float* probabilities, float* d_probabilities, float scale, HeadShape shape,
                                  Dropout dropout, int64_t begin, int64_t end);
  /// out = x times the mask, rows [begin, end) of width T.
  void (*apply_mask)(const float* x, float* out, int64_t T, Dropout dropout, int64_t begin, int64_t end);
  /// out (N,F) = silu(gate) * up, gate and up the halves of gate_up (N, 2F). arXiv:2002.05202.
  void (*swiglu)(const float* gate_up, float* out, int64_t F, int64_t begin, int64_t end);
  void (*swiglu_backward)(const float* d_out, const float* gate_up, float* d_gate_up, int64_t F, int64_t begin,
                          int64_t end);
  /// losses[i] = -log softmax(logits[i])[labels[i]]; rows whose label is -100 give 0. With `replace`,
  /// logits become the gradient of the sum of losses over logits: softmax - onehot, zero where ignored.
  void (*cross_entropy)(float* logits, const int64_t* labels, double* losses, int64_t V, bool replace, int64_t begin,
                        int64_t end);
  /// to = the nearest bf16 of each element, [begin, end); to may be from.
  void (*round_bf16)(const float* from, float* to, int64_t begin, int64_t end);

  // Of the fused pass.
  /// Causal attention of one task (fused/attention_call.hpp): out (N, H*D), stats of its queries.
  /// scratch: call.scratch() floats.
  void (*attention)(const AttentionCall& call, float* out, float* scratch, int64_t task);
  /// From d_out (N, H*D) the gradient d_qkv, which may be call.qkv itself.
  void (*attention_backward)(const AttentionCall& call, const float* d_out, float* d_qkv, float* scratch, int64_t task);
  /// normed as add_rms_norm gave it, from what it kept.
  void (*apply_norm)(const float* x, const float* rstd, const float* weight, float* normed, int64_t C, int64_t begin,
                     int64_t end);
  /// gate_up becomes its gradient; act, which holds the gradient of the activation, becomes the activation.
  void (*swiglu_backward_in_place)(float* gate_up, float* act, int64_t F, int64_t begin, int64_t end);
};

/// The kernels of one instruction set.
struct KernelSet {
  Kernels fp32;
  Kernels bf16;
};

/// The fastest set that this processor runs.
const KernelSet& cpu_kernels();
/// By name: "baseline", "avx2", "avx512"; null when unknown or not supported here.
const KernelSet* cpu_kernels(const char* name);

}  // namespace stc::reference_transformer
