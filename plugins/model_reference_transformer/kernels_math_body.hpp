// Elementary functions of the kernels: rounding to bf16, the exponential, sums in a fixed order. Included by
// kernels_body.hpp, once per instruction set.

#define STC_INLINE inline __attribute__((always_inline))

typedef float Lanes4 __attribute__((vector_size(16)));
typedef float LooseLanes4 __attribute__((vector_size(16), aligned(4), may_alias));

STC_INLINE Lanes4 lanes4(const float* at) { return *(const LooseLanes4*)at; }
STC_INLINE Lanes4 larger(Lanes4 x, Lanes4 y) { return y > x ? y : x; }

STC_INLINE float sum_lanes(const float* lanes) {
  const Lanes4 four = (lanes4(lanes) + lanes4(lanes + 8)) + (lanes4(lanes + 4) + lanes4(lanes + 12));
  return (four[0] + four[2]) + (four[1] + four[3]);
}

STC_INLINE float max_lanes(const float* lanes) {
  const Lanes4 four = larger(larger(lanes4(lanes), lanes4(lanes + 8)), larger(lanes4(lanes + 4), lanes4(lanes + 12)));
  const float x = four[1] > four[0] ? four[1] : four[0];
  const float y = four[3] > four[2] ? four[3] : four[2];
  return y > x ? y : x;
}

STC_INLINE float square_root(float x) { return __builtin_sqrtf(x); }

/// The nearest bf16, ties to even; beyond its largest value infinity. NaN stays NaN.
STC_INLINE float to_bf16(float x) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
  return x != x ? x : __builtin_bit_cast(float, nearest);
}

template <bool kBf16>
STC_INLINE float rounded(float x) {
  return kBf16 ? to_bf16(x) : x;
}

void round_bf16(const float* from, float* to, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) to[i] = to_bf16(from[i]);
}

/// e^x for x <= 88: Cody-Waite reduction and the polynomial of Cephes' expf (relative error below
/// 2e-7); below -87 the result is about 1e-38 instead of 0. NaN stays NaN. Of floats, or of vectors F with Bits
/// as integers of the same lanes: the same bits.
template <class F = float, class Bits = int32_t>
STC_INLINE F exp_fast(F x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  x = x < -87.0F ? F{} - 87.0F : x;
  x = x > 88.0F ? F{} + 88.0F : x;
  const F shifted = x * 1.44269504088896341F + kMagic;
  const F n = shifted - kMagic;
  F r = x - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  F p = F{} + 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Bits power = (__builtin_bit_cast(Bits, shifted) - 0x4B400000 + 127) << 23;
  return p * __builtin_bit_cast(F, power);
}

/// x / (1 + e^-x) without overflow for any finite x.
STC_INLINE float sigmoid(float x) { return 1.0F / (1.0F + exp_fast(-x)); }

/// Largest of n values, n >= 1.
STC_INLINE float max_of(const float* x, int64_t n) {
  float lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[0];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  }
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  return max_lanes(lanes);
}

/// to = exp(scale * x - shift); returns the sum. to may be x, or null.
STC_INLINE float exp_sum(const float* x, float* to, int64_t n, float scale, float shift) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  if (to == nullptr) {
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += exp_fast(scale * x[i + l] - shift);
    }
    for (int64_t l = 0; i < n; ++i, ++l) lanes[l] += exp_fast(scale * x[i] - shift);
    return sum_lanes(lanes);
  }
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const float e = exp_fast(scale * x[i + l] - shift);
      to[i + l] = e;
      lanes[l] += e;
    }
  }
  for (int64_t l = 0; i < n; ++i, ++l) {
    const float e = exp_fast(scale * x[i] - shift);
    to[i] = e;
    lanes[l] += e;
  }
  return sum_lanes(lanes);
}

/// Scores of a query become exp(scale * score - shift) at the `visible` keys that it sees, 0 where `keys` (or null)
/// hides them. Returns their sum; 0: all are hidden, row and shift are not to be used.
STC_INLINE float exponents(float* row, const bool* keys, int64_t visible, float scale, float& shift) {
  constexpr float kHidden = -3.0e38F;
  if (keys != nullptr) {
    for (int64_t j = 0; j < visible; ++j) row[j] = keys[j] ? row[j] : kHidden;
  }
  const float top = max_of(row, visible);
  if (top == kHidden) return 0.0F;
  shift = top * scale;
  float total = exp_sum(row, row, visible, scale, shift);
  if (keys != nullptr) {
    total = 0.0F;
    for (int64_t j = 0; j < visible; ++j) {
      row[j] = keys[j] ? row[j] : 0.0F;
      total += row[j];
    }
  }
  return total;
}

/// exponents() for a row with room up to the next multiple of kLanes, where it leaves zeros: whole vectors, the same
/// sums.
STC_INLINE float padded_exponents(float* row, const bool* keys, int64_t visible, float scale, float& shift) {
  constexpr float kHidden = -3.0e38F;
  if (keys != nullptr) {
    for (int64_t j = 0; j < visible; ++j) row[j] = keys[j] ? row[j] : kHidden;
  }
  const int64_t last = (visible - 1) / kLanes * kLanes;
  for (int64_t l = 0; l < kLanes; ++l) row[last + l] = last + l < visible ? row[last + l] : kHidden;
  const float top = max_of(row, last + kLanes);
  if (top == kHidden) return 0.0F;
  shift = top * scale;
  float lanes[kLanes] = {};
  for (int64_t i = 0; i <= last; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const float e = exp_fast(scale * row[i + l] - shift);
      const float seen = i + l < visible ? e : 0.0F;
      row[i + l] = seen;
      lanes[l] += seen;
    }
  }
  if (keys == nullptr) return sum_lanes(lanes);
  float total = 0.0F;
  for (int64_t j = 0; j < visible; ++j) {
    row[j] = keys[j] ? row[j] : 0.0F;
    total += row[j];
  }
  return total;
}

STC_INLINE float dot(const float* x, const float* y, int64_t n) {
  float lanes[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += x[j + l] * y[j + l];
  }
  for (int64_t l = 0; j < n; ++j, ++l) lanes[l] += x[j] * y[j];
  return sum_lanes(lanes);
}
