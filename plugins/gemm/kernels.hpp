/// \file
/// What a processor's instruction set brings to Engine::own: packing and the product of packed blocks. The blocking
/// is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
#pragma once

#include <cstdint>

namespace stc::gemm {

/// Panels of tile_rows rows of A, or of tile_cols columns of B: element (i, k) of panel p at
/// data[p * next + i * outer + k * step]. Packed panels have outer 1; an operand that is not packed is read where it
/// is.
struct Panels {
  const float* data;
  int64_t next, outer, step;
};

struct Kernels {
  const char* name;
  int64_t tile_rows;
  int64_t tile_cols;
  int64_t pack;  // values of the inner dimension in one packed float: 1, or 2 of bf16
  /// Rows [0, n) of `from`, element (i, k) at from[i * outer + k * step] with outer or step 1, into panels of
  /// tile_rows rows: element (i, k) in to[(i / tile_rows * slots(inner) + k / pack) * tile_rows + i % tile_rows], zero
  /// beyond n and inner. `to` holds the panels and kSlack floats more.
  void (*pack_rows)(const float* from, int64_t outer, int64_t step, int64_t n, int64_t inner, float* to);
  /// The same with tile_cols for tile_rows.
  void (*pack_cols)(const float* from, int64_t outer, int64_t step, int64_t n, int64_t inner, float* to);
  /// c (rows, cols) = alpha * a b + beta * c. Of a, outer or step is 1; b has outer 1, and of its last panel, when cols
  /// cuts it, all tile_cols columns are read from `last`, where that panel is packed.
  void (*block)(const Panels& a, const Panels& b, const float* last, int64_t inner, float* c, int64_t ldc, int64_t rows,
                int64_t cols, float alpha, float beta);

  int64_t slots(int64_t inner) const { return (inner + pack - 1) / pack; }
};

inline constexpr int64_t kSlack = 16;
inline constexpr int64_t kInner = 256;  // packed floats of the inner dimension in a block

/// The best set that this processor runs.
const Kernels& kernels();
/// By name: "baseline", "avx2", "avx512", "avx512_bf16"; null when unknown or not supported here.
const Kernels* kernels(const char* name);
/// The set that multiplies in bf16; null where the processor has no units for it.
const Kernels* bf16_kernels();

/// multiply() with Engine::own on given kernels.
struct Product;
struct Parallel;
void multiply_with(const Kernels& kernels, const Product& product, int64_t lanes, const Parallel& parallel);

}  // namespace stc::gemm
