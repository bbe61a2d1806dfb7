// The kernels of Engine::own. Included once per instruction set by kernels_<isa>.cpp, which defines STC_GEMM_ISA. Only
// built-in types and templates of this file are used, so that no shared inline function is emitted with a
// special instruction set.
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

#define STC_INLINE inline __attribute__((always_inline))

STC_INLINE Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
STC_INLINE void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }

// ---- Packing -----------------------------------------------------------------------------------------------------

/// Exchanges the off-diagonal blocks of kStep lanes between two rows that lie kStep apart.
template <int kStep, std::size_t... kLane>
STC_INLINE void exchange(Vec& a, Vec& b, std::index_sequence<kLane...>) {
  const Vec upper = __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane - kStep + kWidth : kLane)...);
  const Vec lower = __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane + kWidth : kLane + kStep)...);
  a = upper;
  b = lower;
}

template <int kStep>
STC_INLINE void transpose(Vec (&rows)[kWidth]) {
  for (int i = 0; i < kWidth; ++i) {
    if ((i & kStep) == 0) exchange<kStep>(rows[i], rows[i + kStep], std::make_index_sequence<kWidth>());
  }
  if constexpr (kStep > 1) transpose<kStep / 2>(rows);
}

/// Up to kWidth rows, dense in k, become columns of a panel of kPanel rows at `to`. Whole vectors are stored: what lies
/// beyond the panel's row is overwritten by the next one, or is slack.
template <int kPanel>
STC_INLINE void pack_across(const float* from, int64_t outer, int n, int64_t inner, float* to) {
  int64_t k = 0;
  for (; k + kWidth <= inner; k += kWidth) {
    Vec rows[kWidth];
    for (int i = 0; i < kWidth; ++i) rows[i] = i < n ? load(from + i * outer + k) : Vec{};
    transpose<kWidth / 2>(rows);
    for (int i = 0; i < kWidth; ++i) store(to + (k + i) * kPanel, rows[i]);
  }
  for (; k < inner; ++k) {
    Vec row{};
    for (int i = 0; i < n; ++i) row[i] = from[i * outer + k];
    store(to + k * kPanel, row);
  }
}

template <int kPanel>
void pack(const float* from, int64_t outer, int64_t step, int64_t n, int64_t inner, float* to) {
  for (int64_t begin = 0; begin < n; begin += kPanel) {
    const int64_t count = n - begin < kPanel ? n - begin : kPanel;
    float* panel = to + begin * inner;
    const float* rows = from + begin * outer;
    if (step == 1) {
      for (int i = 0; i < kPanel; i += kWidth) {
        const int64_t left = count - i < kPanel - i ? count - i : kPanel - i;
        const int part = static_cast<int>(left < 0 ? 0 : (left < kWidth ? left : kWidth));
        pack_across<kPanel>(rows + i * outer, outer, part, inner, panel + i);
      }
    } else if (count == kPanel) {
      for (int64_t k = 0; k < inner; ++k) {
        for (int64_t i = 0; i < kPanel; ++i) panel[k * kPanel + i] = rows[k * step + i];
      }
    } else {
      for (int64_t k = 0; k < inner; ++k) {
        for (int64_t i = 0; i < kPanel; ++i) panel[k * kPanel + i] = i < count ? rows[k * step + i] : 0.0F;
      }
    }
  }
}

// ---- Products ----------------------------------------------------------------------------------------------------

/// A tile of kTall rows. c has room for all of it.
template <int kTall>
STC_INLINE void tile(const float* a, const float* b, int64_t inner, float* c, int64_t ldc, float alpha, float beta) {
  Vec sum[kTall][kVecs] = {};
  for (int64_t k = 0; k < inner; ++k) {
    Vec right[kVecs];
    for (int j = 0; j < kVecs; ++j) right[j] = load(b + k * kCols + j * kWidth);
#pragma GCC unroll 12
    for (int i = 0; i < kTall; ++i) {
      const float left = a[k * kRows + i];
      for (int j = 0; j < kVecs; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kTall; ++i) {
    for (int j = 0; j < kVecs; ++j) {
      float* to = c + i * ldc + j * kWidth;
      const Vec value = alpha * sum[i][j];
      store(to, beta == 0.0F ? value : value + beta * load(to));
    }
  }
}

/// rows <= kRows, cols <= kCols.
template <int kTall>
void tile_of(int64_t rows, int64_t cols, const float* a, const float* b, int64_t inner, float* c, int64_t ldc,
             float alpha, float beta) {
  if constexpr (kTall > 1) {
    if (rows < kTall) return tile_of<kTall - 1>(rows, cols, a, b, inner, c, ldc, alpha, beta);
  }
  if (cols == kCols) return tile<kTall>(a, b, inner, c, ldc, alpha, beta);
  float part[kTall * kCols] = {};
  if (beta != 0.0F) {
    for (int64_t i = 0; i < kTall; ++i) {
      for (int64_t j = 0; j < cols; ++j) part[i * kCols + j] = c[i * ldc + j];
    }
  }
  tile<kTall>(a, b, inner, part, kCols, alpha, beta);
  for (int64_t i = 0; i < kTall; ++i) {
    for (int64_t j = 0; j < cols; ++j) c[i * ldc + j] = part[i * kCols + j];
  }
}

void block(const float* a, const float* b, int64_t inner, float* c, int64_t ldc, int64_t rows, int64_t cols,
           float alpha, float beta) {
  for (int64_t j = 0; j < cols; j += kCols) {
    const int64_t wide = cols - j < kCols ? cols - j : kCols;
    for (int64_t i = 0; i < rows; i += kRows) {
      const int64_t tall = rows - i < kRows ? rows - i : kRows;
      tile_of<kRows>(tall, wide, a + i * inner, b + j * inner, inner, c + i * ldc + j, ldc, alpha, beta);
    }
  }
}

#define STC_GEMM_STRING(x) #x
#define STC_GEMM_NAME(x) STC_GEMM_STRING(x)

}  // namespace

extern const Kernels kKernels;
const Kernels kKernels = {STC_GEMM_NAME(STC_GEMM_ISA), kRows, kCols, pack<kRows>, pack<kCols>, block};

}  // namespace stc::gemm::STC_GEMM_ISA
