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

/// Rows that are worked on at a time: one reduction serves them all.
constexpr int64_t kRows = 4;

STC_INLINE HalfLanes low_half(Lanes x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7); }
STC_INLINE HalfLanes high_half(Lanes x) { return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15); }
STC_INLINE Lanes4 low_half(HalfLanes x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3); }
STC_INLINE Lanes4 high_half(HalfLanes x) { return __builtin_shufflevector(x, x, 4, 5, 6, 7); }

/// Each row's lanes reduced to one by `join`, in the order of sum_lanes(const float*).
template <class Join>
STC_INLINE Lanes4 reduce_rows(const Lanes (&rows)[kRows], Join&& join) {
  Lanes4 four[kRows];
  for (int64_t r = 0; r < kRows; ++r) {
    const HalfLanes half = join(low_half(rows[r]), high_half(rows[r]));
    four[r] = join(low_half(half), high_half(half));
  }
  const Lanes4 first = join(__builtin_shufflevector(four[0], four[1], 0, 4, 1, 5),
                            __builtin_shufflevector(four[0], four[1], 2, 6, 3, 7));
  const Lanes4 second = join(__builtin_shufflevector(four[2], four[3], 0, 4, 1, 5),
                             __builtin_shufflevector(four[2], four[3], 2, 6, 3, 7));
  return join(__builtin_shufflevector(first, second, 0, 1, 4, 5), __builtin_shufflevector(first, second, 2, 3, 6, 7));
}

STC_INLINE Lanes4 sums_of(const Lanes (&rows)[kRows]) {
  return reduce_rows(
      rows, [](auto x, auto y) __attribute__((always_inline)) { return x + y; });
}
STC_INLINE Lanes4 largest_of(const Lanes (&rows)[kRows]) {
  return reduce_rows(
      rows, [](auto x, auto y) __attribute__((always_inline)) { return y > x ? y : x; });
}

STC_INLINE LaneIndex seen_by(int64_t t) {
  constexpr LaneIndex kIndex = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return kIndex <= static_cast<int32_t>(t % 16);
}

/// Every row needs kVecs vectors, the last of them for a part: begin / 16 == (end - 1) / 16 == kVecs - 1. p has kRows
/// rows for each kRows begun.
template <int kVecs>
STC_INLINE void softmax_rows(const AttentionCall& call, const QueryBlock& q, float* p, float* factors) {
  constexpr float kHidden = -3.0e38F;
  const float scale = call.scale;
  float* stats = call.stats + 2 * q.first_stats;
  for (int64_t t = q.begin; t < q.end; t += kRows, p += kRows * q.stride) {
    Lanes x[kRows][kVecs], tops[kRows], totals[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      for (int i = 0; i < kVecs; ++i) x[r][i] = *(const LooseLanes*)(p + r * q.stride + 16 * i);
      x[r][kVecs - 1] = seen_by(t + r) ? x[r][kVecs - 1] : Lanes{} + kHidden;
      tops[r] = x[r][0];
      for (int i = 1; i < kVecs; ++i) tops[r] = x[r][i] > tops[r] ? x[r][i] : tops[r];
    }
    const Lanes4 top = largest_of(tops);
    const Lanes4 shift = top * scale;
    for (int64_t r = 0; r < kRows; ++r) {
      totals[r] = Lanes{};
      for (int i = 0; i < kVecs; ++i) {
        x[r][i] = exp_fast<Lanes, LaneIndex>(scale * x[r][i] - shift[r]);
        if (i == kVecs - 1) x[r][i] = seen_by(t + r) ? x[r][i] : Lanes{};
        *(LooseLanes*)(p + r * q.stride + 16 * i) = x[r][i];
        totals[r] += x[r][i];
      }
    }
    const Lanes4 inverse = top == kHidden ? Lanes4{} : 1.0F / sums_of(totals);
    for (int64_t r = 0; r < kRows && t + r < q.end; ++r) {
      stats[2 * (t + r)] = shift[r];
      stats[2 * (t + r) + 1] = factors[t + r - q.begin] = inverse[r];
    }
  }
}

template <int kVecs>
STC_INLINE void softmax_rows_backward(const AttentionCall& call, const QueryBlock& q, float* p, float* dp) {
  const float scale = call.scale;
  const float* stats = call.stats + 2 * q.first_stats;
  const int64_t step = kRows * q.stride;
  for (int64_t t = q.begin; t < q.end; t += kRows, p += step, dp += step) {
    Lanes x[kRows][kVecs], dx[kRows][kVecs], products[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      const int64_t query = t + r < q.end ? t + r : t;
      const float shift = stats[2 * query], inverse = stats[2 * query + 1];
      products[r] = Lanes{};
      for (int i = 0; i < kVecs; ++i) {
        const int64_t place = r * q.stride + 16 * i;
        x[r][i] = exp_fast<Lanes, LaneIndex>(scale * Lanes(*(const LooseLanes*)(p + place)) - shift) * inverse;
        dx[r][i] = *(const LooseLanes*)(dp + place);
        if (i == kVecs - 1) {
          x[r][i] = seen_by(t + r) ? x[r][i] : Lanes{};
          dx[r][i] = seen_by(t + r) ? dx[r][i] : Lanes{};
        }
        *(LooseLanes*)(p + place) = x[r][i];
        products[r] += dx[r][i] * x[r][i];
      }
    }
    const Lanes4 inner = sums_of(products);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int i = 0; i < kVecs; ++i) {
        *(LooseLanes*)(dp + r * q.stride + 16 * i) = scale * x[r][i] * (dx[r][i] - inner[r]);
      }
    }
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
