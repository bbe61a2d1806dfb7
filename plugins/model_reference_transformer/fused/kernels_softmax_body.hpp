// The softmax of the blocked attention, forward and backward: a query at a time for any row, and a block of queries
// whose scores stay in registers for short rows without padding and dropout. Both have the same bits. Included by
// kernels_fused_body.hpp.

/// Scores of one query become exponents (without dropout) or dropped probabilities; stats are kept.
/// Returns what the output row is still to be multiplied by.
template <bool kBf16>
STC_INLINE float softmax_row(const AttentionCall& call, const bool* keys, float* row, int64_t t, int64_t width,
                             int64_t r) {
  const int64_t visible = t + 1;
  float* stats = call.stats + 2 * r;
  float shift = 0.0F;
  const float total = padded_exponents(row, keys, visible, call.scale, shift);
  if (total == 0.0F) {
    zero(row, width);
    stats[0] = stats[1] = 0.0F;
    return 0.0F;
  }
  const float inverse = 1.0F / total;
  stats[0] = shift;
  stats[1] = inverse;
  const int64_t padded = (visible + kLanes - 1) / kLanes * kLanes;
  zero(row + padded, width - padded);
  if (!call.dropout.active()) return inverse;
  for (int64_t j = 0; j < visible; ++j) {
    row[j] = rounded<kBf16>(row[j] * inverse * call.dropout.factor(static_cast<uint64_t>(r * call.shape.time + j)));
  }
  return 1.0F;
}

/// Scores p and gradients dp of the probabilities of one query become dropped probabilities and the gradient
/// of the scores.
template <bool kBf16>
STC_INLINE void softmax_row_backward(const AttentionCall& call, const bool* keys, float* p, float* dp, int64_t t,
                                     int64_t width, int64_t r) {
  const int64_t visible = t + 1;
  const float shift = call.stats[2 * r];
  const float inverse = call.stats[2 * r + 1];
  const bool dropped = call.dropout.active();
  if (dropped) {
    for (int64_t j = 0; j < visible; ++j) dp[j] *= call.dropout.factor(static_cast<uint64_t>(r * call.shape.time + j));
  }
  // Whole vectors up to `padded`: zeros from `visible` on.
  const int64_t last = (visible - 1) / kLanes * kLanes;
  const int64_t padded = last + kLanes;
  for (int64_t i = 0; i < last; ++i) p[i] = exp_fast(call.scale * p[i] - shift) * inverse;
  for (int64_t i = last; i < padded; ++i) {
    const float e = exp_fast(call.scale * p[i] - shift) * inverse;
    p[i] = i < visible ? e : 0.0F;
    dp[i] = i < visible ? dp[i] : 0.0F;
  }
  if (keys != nullptr) {
    for (int64_t j = 0; j < visible; ++j) p[j] = keys[j] ? p[j] : 0.0F;
  }
  const float inner = dot(dp, p, padded);
  for (int64_t i = 0; i < padded; ++i) dp[i] = call.scale * p[i] * (dp[i] - inner);
  if (dropped) {
    for (int64_t j = 0; j < visible; ++j) {
      dp[j] = rounded<kBf16>(dp[j]);
      p[j] = rounded<kBf16>(p[j] * call.dropout.factor(static_cast<uint64_t>(r * call.shape.time + j)));
    }
  }
  zero(p + padded, width - padded);
  zero(dp + padded, width - padded);
}

/// Queries [begin, end) of a head; rows of `width` scores, a multiple of 16 not below `end`, lie `stride` apart.
struct QueryBlock {
  int64_t begin, end, width;
  int64_t first_stats;  // number of the head's first query
  int64_t stride;
};

#if STC_VECTOR_BYTES == 64

// ---- A block of queries whose scores stay in registers -------------------------------------------------------------

typedef float Lanes __attribute__((vector_size(64)));
typedef float LooseLanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef float HalfLanes __attribute__((vector_size(32)));
typedef int32_t LaneIndex __attribute__((vector_size(64)));

/// In the order of sum_lanes(const float*).
STC_INLINE float sum_lanes(Lanes x) {
  const HalfLanes half = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                         __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const Lanes4 four = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

STC_INLINE float max_lanes(Lanes x) {
  const HalfLanes low = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const HalfLanes half = high > low ? high : low;
  const Lanes4 four =
      larger(__builtin_shufflevector(half, half, 0, 1, 2, 3), __builtin_shufflevector(half, half, 4, 5, 6, 7));
  const float even = four[2] > four[0] ? four[2] : four[0];
  const float odd = four[3] > four[1] ? four[3] : four[1];
  return odd > even ? odd : even;
}

/// Every row needs kVecs vectors, the last of them for a part: begin / 16 == (end - 1) / 16 == kVecs - 1.
template <int kVecs>
STC_INLINE void softmax_rows(const AttentionCall& call, const QueryBlock& q, float* p, float* factors) {
  constexpr float kHidden = -3.0e38F;
  constexpr LaneIndex kIndex = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const float scale = call.scale;
  float* stats = call.stats + 2 * (q.first_stats + q.begin);
  for (int64_t t = q.begin; t < q.end; ++t, p += q.stride, stats += 2) {
    const LaneIndex seen = kIndex <= static_cast<int32_t>(t % 16);
    Lanes x[kVecs];
    for (int i = 0; i < kVecs; ++i) x[i] = *(const LooseLanes*)(p + 16 * i);
    x[kVecs - 1] = seen ? x[kVecs - 1] : Lanes{} + kHidden;
    Lanes tops = x[0];
    for (int i = 1; i < kVecs; ++i) tops = x[i] > tops ? x[i] : tops;
    const float top = max_lanes(tops);
    if (top == kHidden) {
      for (int i = 0; i < kVecs; ++i) *(LooseLanes*)(p + 16 * i) = Lanes{};
      stats[0] = stats[1] = factors[t - q.begin] = 0.0F;
      continue;
    }
    const float shift = top * scale;
    Lanes total{};
    for (int i = 0; i < kVecs; ++i) {
      x[i] = exp_fast<Lanes, LaneIndex>(scale * x[i] - shift);
      if (i == kVecs - 1) x[i] = seen ? x[i] : Lanes{};
      *(LooseLanes*)(p + 16 * i) = x[i];
      total += x[i];
    }
    stats[0] = shift;
    stats[1] = factors[t - q.begin] = 1.0F / sum_lanes(total);
  }
}

template <int kVecs>
STC_INLINE void softmax_rows_backward(const AttentionCall& call, const QueryBlock& q, float* p, float* dp) {
  constexpr LaneIndex kIndex = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const float scale = call.scale;
  const float* stats = call.stats + 2 * (q.first_stats + q.begin);
  for (int64_t t = q.begin; t < q.end; ++t, p += q.stride, dp += q.stride, stats += 2) {
    const LaneIndex seen = kIndex <= static_cast<int32_t>(t % 16);
    Lanes x[kVecs], dx[kVecs], products{};
    for (int i = 0; i < kVecs; ++i) {
      x[i] = exp_fast<Lanes, LaneIndex>(scale * Lanes(*(const LooseLanes*)(p + 16 * i)) - stats[0]) * stats[1];
      dx[i] = *(const LooseLanes*)(dp + 16 * i);
      if (i == kVecs - 1) {
        x[i] = seen ? x[i] : Lanes{};
        dx[i] = seen ? dx[i] : Lanes{};
      }
      *(LooseLanes*)(p + 16 * i) = x[i];
      products += dx[i] * x[i];
    }
    const float inner = sum_lanes(products);
    for (int i = 0; i < kVecs; ++i) *(LooseLanes*)(dp + 16 * i) = scale * x[i] * (dx[i] - inner);
  }
}

/// True where the rows of the block can stay in registers.
STC_INLINE bool in_registers(const AttentionCall& call, const bool* keys, const QueryBlock& q) {
  return keys == nullptr && !call.dropout.active() && q.width <= 64 && q.begin == q.width - 16;
}

STC_INLINE void softmax_in_registers(const AttentionCall& call, const QueryBlock& q, float* p, float* factors) {
  if (q.width == 16) return softmax_rows<1>(call, q, p, factors);
  if (q.width == 32) return softmax_rows<2>(call, q, p, factors);
  if (q.width == 48) return softmax_rows<3>(call, q, p, factors);
  return softmax_rows<4>(call, q, p, factors);
}

STC_INLINE void softmax_backward_in_registers(const AttentionCall& call, const QueryBlock& q, float* p, float* dp) {
  if (q.width == 16) return softmax_rows_backward<1>(call, q, p, dp);
  if (q.width == 32) return softmax_rows_backward<2>(call, q, p, dp);
  if (q.width == 48) return softmax_rows_backward<3>(call, q, p, dp);
  return softmax_rows_backward<4>(call, q, p, dp);
}

#endif

/// Scores become exponents or dropped probabilities; factors[i] is what the output row i is still to be multiplied by.
template <bool kBf16>
STC_INLINE void softmax(const AttentionCall& call, const bool* keys, const QueryBlock& q, float* p, float* factors) {
#if STC_VECTOR_BYTES == 64
  if (in_registers(call, keys, q)) return softmax_in_registers(call, q, p, factors);
#endif
  for (int64_t t = q.begin; t < q.end; ++t, p += q.stride) {
    factors[t - q.begin] = softmax_row<kBf16>(call, keys, p, t, q.width, q.first_stats + t);
  }
}

/// Scores p and gradients dp of the probabilities become dropped probabilities and the gradient of the scores.
template <bool kBf16>
STC_INLINE void softmax_backward(const AttentionCall& call, const bool* keys, const QueryBlock& q, float* p,
                                 float* dp) {
#if STC_VECTOR_BYTES == 64
  if (in_registers(call, keys, q)) return softmax_backward_in_registers(call, q, p, dp);
#endif
  for (int64_t t = q.begin; t < q.end; ++t, p += q.stride, dp += q.stride) {
    softmax_row_backward<kBf16>(call, keys, p, dp, t, q.width, q.first_stats + t);
  }
}
