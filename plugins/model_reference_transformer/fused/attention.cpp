#include "fused/attention.hpp"

#include <cmath>

#include "fused/gemm.hpp"

namespace stc::reference_transformer::fused {
namespace {

/// Queries of a block. Its scores, 64 x T, stay in the cache.
constexpr int64_t kBlock = 64;

float scale_of(const HeadShape& s) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.head_dim))); }

int64_t unit_scratch(const HeadShape& s) { return 2 * std::min(kBlock, s.time) * s.time; }

/// One block of queries of one head.
struct Block {
  BlockShape shape;
  const float* q;     // (rows, D)
  int64_t rows_done;  // of logsumexp, (B,H,T)
  int64_t merged_at;  // first element in (B*T, H*D)
};

/// Calls visit(block) for the query blocks of key head `unit` = b*K + k, query head by query head.
template <class Visit>
void for_each_block(const AttentionInputs& in, int64_t unit, Visit&& visit) {
  const HeadShape& s = in.shape;
  const int64_t b = unit / s.kv_heads;
  for (int64_t g = 0; g < s.group; ++g) {
    const int64_t head_row = (unit * s.group + g) * s.time;  // rows of (B,K,G,T) = (B,H,T)
    const int64_t head = unit % s.kv_heads * s.group + g;
    for (int64_t first = 0; first < s.time; first += kBlock) {
      const int64_t rows = std::min(kBlock, s.time - first);
      Block block;
      block.shape = {rows, first + rows, s.time, first, s.time, static_cast<uint64_t>(head_row + first)};
      block.q = in.q + (head_row + first) * s.head_dim;
      block.rows_done = head_row + first;
      block.merged_at = (b * s.time + first) * s.model_dim() + head * s.head_dim;
      visit(block);
    }
  }
}

}  // namespace

int64_t attention_scratch(const HeadShape& s) { return s.rows * s.kv_heads * unit_scratch(s); }

void attention_forward(const cpu::Shared& shared, const AttentionInputs& in, float* scratch, float* merged,
                       float* logsumexp) {
  const HeadShape& s = in.shape;
  const int64_t d = s.head_dim;
  shared.parallel(s.rows * s.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      float* scores = scratch + unit * unit_scratch(s);
      const float* k = in.k + unit * s.time * d;
      const float* v = in.v + unit * s.time * d;
      const bool* mask = in.mask == nullptr ? nullptr : in.mask + unit / s.kv_heads * s.time;
      for_each_block(in, unit, [&](const Block& block) {
        const BlockShape& b = block.shape;
        gemm(Op::kNone, Op::kTransposed, b.rows, b.keys, d, scale_of(s), block.q, d, k, d, 0.0F, scores, b.stride);
        shared.kernels.block_softmax(scores, b, mask, in.dropout, logsumexp + block.rows_done);
        gemm(Op::kNone, Op::kNone, b.rows, d, b.keys, 1.0F, scores, b.stride, v, d, 0.0F, merged + block.merged_at,
             s.model_dim());
      });
    }
  });
  if (shared.bf16) shared.round(merged, s.rows * s.time * s.model_dim());
}

void attention_backward(const cpu::Shared& shared, const AttentionInputs& in, const float* logsumexp,
                        const float* d_merged, float* scratch, float* dq, float* dk, float* dv) {
  const HeadShape& s = in.shape;
  const int64_t d = s.head_dim;
  const int64_t c = s.model_dim();
  shared.parallel(s.rows * s.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      float* scores = scratch + unit * unit_scratch(s);
      float* gradient = scores + unit_scratch(s) / 2;
      const int64_t at = unit * s.time * d;
      const bool* mask = in.mask == nullptr ? nullptr : in.mask + unit / s.kv_heads * s.time;
      std::fill_n(dk + at, s.time * d, 0.0F);
      std::fill_n(dv + at, s.time * d, 0.0F);
      for_each_block(in, unit, [&](const Block& block) {
        const BlockShape& b = block.shape;
        const float* d_out = d_merged + block.merged_at;
        gemm(Op::kNone, Op::kTransposed, b.rows, b.keys, d, scale_of(s), block.q, d, in.k + at, d, 0.0F, scores,
             b.stride);
        gemm(Op::kNone, Op::kTransposed, b.rows, b.keys, d, 1.0F, d_out, c, in.v + at, d, 0.0F, gradient, b.stride);
        shared.kernels.block_softmax_backward(scores, gradient, b, mask, in.dropout, logsumexp + block.rows_done,
                                              scale_of(s));
        gemm(Op::kTransposed, Op::kNone, b.keys, d, b.rows, 1.0F, scores, b.stride, d_out, c, 1.0F, dv + at, d);
        gemm(Op::kTransposed, Op::kNone, b.keys, d, b.rows, 1.0F, gradient, b.stride, block.q, d, 1.0F, dk + at, d);
        gemm(Op::kNone, Op::kNone, b.rows, d, b.keys, 1.0F, gradient, b.stride, in.k + at, d, 0.0F,
             dq + block.rows_done * d, d);
      });
    }
  });
}

}  // namespace stc::reference_transformer::fused
