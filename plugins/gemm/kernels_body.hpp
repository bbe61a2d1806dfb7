// The kernels of Engine::own. Included once per instruction set by kernels_<isa>.cpp, which defines STC_GEMM_ISA. Only
// built-in types and templates of this file are used, so that no shared inline function is emitted with a
// special instruction set.
#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#include <utility>

#include "kernels.hpp"

namespace stc::gemm::STC_GEMM_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
constexpr int kRows = 12;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
constexpr int kRows = 6;
#else
constexpr int kBytes = 16;
constexpr int kRows = 4;
#endif
typedef float Vec __attribute__((vector_size(kBytes)));
typedef float LooseVec __attribute__((vector_size(kBytes), aligned(4), may_alias));
constexpr int kWidth = kBytes / 4;
constexpr int kVecs = 2;
constexpr int kCols = kVecs * kWidth;

#if defined(__AVX512BF16__)
constexpr int kPack = 2;
#else
constexpr int kPack = 1;
#endif

#define STC_INLINE inline __attribute__((always_inline))

STC_INLINE Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
STC_INLINE void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }

// ---- Packing -----------------------------------------------------------------------------------------------------

#include "transpose_body.hpp"

/// Values of the inner dimension k and, with kPack 2, k + 1 in one float.
#if defined(__AVX512BF16__)
typedef uint32_t Bits __attribute__((vector_size(kBytes)));

STC_INLINE uint32_t to_bf16(float x) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return bits + 0x7FFFU + ((bits >> 16) & 1U);  // the upper half is the nearest bf16, ties to even
}

STC_INLINE float packed(float first, float second) {
  return __builtin_bit_cast(float, (to_bf16(first) >> 16) | (to_bf16(second) & 0xFFFF0000U));
}

STC_INLINE Vec packed(Vec first, Vec second) {
  auto a = __builtin_bit_cast(Bits, first), b = __builtin_bit_cast(Bits, second);
  a = a + 0x7FFFU + ((a >> 16) & 1U);
  b = b + 0x7FFFU + ((b >> 16) & 1U);
  return __builtin_bit_cast(Vec, (a >> 16) | (b & 0xFFFF0000U));
}
#else
STC_INLINE float packed(float first, float) { return first; }
STC_INLINE Vec packed(Vec first, Vec) { return first; }
#endif

/// Up to kWidth rows, dense in k, become columns of a panel of kPanel rows at `to`. Whole vectors are stored: what lies
/// beyond the panel's row is overwritten by the next one, or is slack.
template <int kPanel>
STC_INLINE void pack_across(const float* from, int64_t outer, int n, int64_t inner, float* to) {
  int64_t k = 0;
  for (; k + kWidth <= inner; k += kWidth) {
    Vec rows[kWidth];
    for (int i = 0; i < kWidth; ++i) rows[i] = i < n ? load(from + i * outer + k) : Vec{};
    transpose<kWidth / 2>(rows);
    for (int i = 0; i < kWidth; i += kPack) {
      store(to + (k + i) / kPack * kPanel, packed(rows[i], rows[i + kPack - 1]));
    }
  }
  for (; k < inner; k += kPack) {
    Vec row{};
    for (int i = 0; i < n; ++i) {
      row[i] = packed(from[i * outer + k], k + kPack - 1 < inner ? from[i * outer + k + kPack - 1] : 0.0F);
    }
    store(to + k / kPack * kPanel, row);
  }
}

/// Up to kPanel rows, adjacent for each k, become a panel.
template <int kPanel>
STC_INLINE void pack_along(const float* from, int64_t step, int64_t n, int64_t inner, float* to) {
  for (int64_t k = 0; k < inner; k += kPack, to += kPanel) {
    const float* first = from + k * step;
    if (n == kPanel && k + kPack <= inner) {
      const float* second = first + (kPack - 1) * step;
      for (int64_t i = 0; i < kPanel; ++i) to[i] = packed(first[i], second[i]);
    } else {
      const bool both = k + kPack - 1 < inner;
      for (int64_t i = 0; i < kPanel; ++i) {
        to[i] = i < n ? packed(first[i], both ? first[(kPack - 1) * step + i] : 0.0F) : 0.0F;
      }
    }
  }
}

template <int kPanel>
void pack(const float* from, int64_t outer, int64_t step, int64_t n, int64_t inner, float* to) {
  for (int64_t begin = 0; begin < n; begin += kPanel) {
    const int64_t count = n - begin < kPanel ? n - begin : kPanel;
    float* panel = to + begin * ((inner + kPack - 1) / kPack);
    const float* rows = from + begin * outer;
    if (step == 1) {
      for (int i = 0; i < kPanel; i += kWidth) {
        const int64_t left = count - i < kPanel - i ? count - i : kPanel - i;
        const int part = static_cast<int>(left < 0 ? 0 : (left < kWidth ? left : kWidth));
        pack_across<kPanel>(rows + i * outer, outer, part, inner, panel + i);
      }
    } else {
      pack_along<kPanel>(rows, step, count, inner, panel);
    }
  }
}

// ---- Products ----------------------------------------------------------------------------------------------------

/// sum += left * right; of bf16 pairs both products.
STC_INLINE Vec multiply_add(Vec sum, float left, Vec right) {
#if defined(__AVX512BF16__)
  const __m512i pairs = _mm512_set1_epi32(__builtin_bit_cast(int32_t, left));
  return __builtin_bit_cast(
      Vec, _mm512_dpbf16_ps(__builtin_bit_cast(__m512, sum), (__m512bh)pairs, __builtin_bit_cast(__m512bh, right)));
#else
  return sum + left * right;
#endif
}

/// A tile of kTall rows and kWide vectors over `slots` floats of the inner dimension. c has room for all of it.
template <int kTall, int kWide, bool kAdjacent>
STC_INLINE void tile(const Panels& a, const float* b, int64_t b_step, int64_t slots, float* c, int64_t ldc, float alpha,
                     float beta) {
  Vec sum[kTall][kWide] = {};
  for (int64_t k = 0; k < slots; ++k) {
    Vec right[kWide];
    for (int j = 0; j < kWide; ++j) right[j] = load(b + k * b_step + j * kWidth);
#pragma GCC unroll 12
    for (int i = 0; i < kTall; ++i) {
      const float left = kAdjacent ? a.data[k * a.step + i] : a.data[i * a.outer + k];
      for (int j = 0; j < kWide; ++j) sum[i][j] = multiply_add(sum[i][j], left, right[j]);
    }
  }
  for (int i = 0; i < kTall; ++i) {
    for (int j = 0; j < kWide; ++j) {
      float* to = c + i * ldc + j * kWidth;
      const Vec value = alpha * sum[i][j];
      store(to, beta == 0.0F ? value : value + beta * load(to));
    }
  }
}

/// Columns of a tile that is cut: they go through a copy.
template <int kTall, bool kAdjacent>
STC_INLINE void cut_tile(int64_t cols, const Panels& a, const float* b, int64_t b_step, int64_t slots, float* c,
                         int64_t ldc, float alpha, float beta) {
  float part[kTall * kCols] = {};
  if (beta != 0.0F) {
    for (int64_t i = 0; i < kTall; ++i) {
      for (int64_t j = 0; j < cols; ++j) part[i * kCols + j] = c[i * ldc + j];
    }
  }
  tile<kTall, kVecs, kAdjacent>(a, b, b_step, slots, part, kCols, alpha, beta);
  for (int64_t i = 0; i < kTall; ++i) {
    for (int64_t j = 0; j < cols; ++j) c[i * ldc + j] = part[i * kCols + j];
  }
}

/// rows <= kRows, cols <= kCols. kAdjacent: the values of A for one k are adjacent.
template <int kTall, bool kAdjacent>
void tile_of(int64_t rows, int64_t cols, const Panels& a, const float* b, int64_t b_step, int64_t slots, float* c,
             int64_t ldc, float alpha, float beta) {
  if constexpr (kTall > 1) {
    if (rows < kTall) return tile_of<kTall - 1, kAdjacent>(rows, cols, a, b, b_step, slots, c, ldc, alpha, beta);
  }
  if (cols == kCols) return tile<kTall, kVecs, kAdjacent>(a, b, b_step, slots, c, ldc, alpha, beta);
  if (cols == kWidth) return tile<kTall, 1, kAdjacent>(a, b, b_step, slots, c, ldc, alpha, beta);
  cut_tile<kTall, kAdjacent>(cols, a, b, b_step, slots, c, ldc, alpha, beta);
}

void block(const Panels& a, const Panels& b, const float* last, int64_t inner, float* c, int64_t ldc, int64_t rows,
           int64_t cols, float alpha, float beta) {
  const int64_t slots = (inner + kPack - 1) / kPack;
  const auto of_rows = a.outer == 1 ? tile_of<kRows, true> : tile_of<kRows, false>;
  for (int64_t j = 0; j < cols; j += kCols) {
    const bool cut = cols - j < kCols;
    const float* right = cut ? last : b.data + j / kCols * b.next;
    Panels left = a;
    for (int64_t i = 0; i < rows; i += kRows, left.data += a.next) {
      const int64_t tall = rows - i < kRows ? rows - i : kRows;
      of_rows(tall, cut ? cols - j : kCols, left, right, cut ? kCols : b.step, slots, c + i * ldc + j, ldc, alpha,
              beta);
    }
  }
}

#define STC_GEMM_STRING(x) #x
#define STC_GEMM_NAME(x) STC_GEMM_STRING(x)

}  // namespace

extern const Kernels kKernels;
const Kernels kKernels = {STC_GEMM_NAME(STC_GEMM_ISA), kRows, kCols, kPack, pack<kRows>, pack<kCols>, block};

}  // namespace stc::gemm::STC_GEMM_ISA
