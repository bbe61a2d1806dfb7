/// \file
/// Causal attention by blocks of queries: no (T,T) matrix, keys and values of a key head read by all its query heads.
#pragma once

#include <cstdint>

#include "cpu_context.hpp"

namespace stc::reference_transformer::fused {

/// Rotated queries (B,K,G,T,D), keys and values (B,K,T,D), dense; mask (B,T), true where a key may be seen, or null:
/// all.
struct AttentionInputs {
  HeadShape shape;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const bool* mask = nullptr;
  Dropout dropout;
};

/// Floats of scratch that a pass needs, forward or backward.
int64_t attention_scratch(const HeadShape& shape);

/// merged (B*T, H*D) = softmax(q k^T / sqrt(D)) v; logsumexp (B,H,T) is for the backward. A query that sees no key
/// gives 0. Each thread takes whole key heads, so the bits do not depend on their number.
void attention_forward(const cpu::Shared& shared, const AttentionInputs& in, float* scratch, float* merged,
                       float* logsumexp);

/// dq, dk, dv in the layouts of q, k, v from d_merged (B*T, H*D).
void attention_backward(const cpu::Shared& shared, const AttentionInputs& in, const float* logsumexp,
                        const float* d_merged, float* scratch, float* dq, float* dk, float* dv);

}  // namespace stc::reference_transformer::fused
