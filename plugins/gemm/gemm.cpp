#include "gemm.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "kernels.hpp"

// Fortran's matrix product, exported by most builds of LibTorch.
extern "C" {
__attribute__((weak)) void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                                  const int* k, const float* alpha, const float* a, const int* lda, const float* b,
                                  const int* ldb, const float* beta, float* c, const int* ldc);
}

namespace stc::gemm {
namespace {

constexpr int64_t kBlockRows = 168;   // of A that are packed at a time, about: they stay in the second-level cache
constexpr int64_t kBlockCols = 2048;  // of B
/// Below this many multiplications the call of a library counts (measured: MKL with AVX-512 on Intel's processors).
constexpr double kSmallProduct = 1 << 21;

bool has_avx512() { return std::strcmp(kernels().name, "avx512") == 0; }

bool library_uses_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

/// Memory of a thread, kept from product to product. Aligned to 64 bytes, not initialised.
class ThreadMemory {
 public:
  float* take(int64_t floats) {
    if (floats > size_) {
      memory_.reset(new (std::align_val_t{64}) float[static_cast<size_t>(floats)]);
      size_ = floats;
    }
    return memory_.get();
  }

 private:
  struct Delete {
    void operator()(float* memory) const { operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<float[], Delete> memory_;
  int64_t size_ = 0;
};

float* memory_for_rows(int64_t floats) {
  thread_local ThreadMemory memory;
  return memory.take(floats);
}

float* memory_for_cols(int64_t floats) {
  thread_local ThreadMemory memory;
  return memory.take(floats);
}

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/// Fortran reads rows as columns: C^T = B^T A^T.
void multiply_by_library(const Product& p) {
  const int m = static_cast<int>(p.cols), n = static_cast<int>(p.rows), k = static_cast<int>(p.inner);
  const bool transpose_a = p.a.col != 1, transpose_b = p.b.col != 1;
  const int lda = static_cast<int>(std::max(transpose_a ? p.a.col : p.a.row, transpose_a ? p.rows : p.inner));
  const int ldb = static_cast<int>(std::max(transpose_b ? p.b.col : p.b.row, transpose_b ? p.inner : p.cols));
  const int ldc = static_cast<int>(p.ldc);
  sgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &m, &n, &k, &p.alpha, p.b.data, &ldb, p.a.data, &lda,
         &p.beta, p.c, &ldc);
}

/// A part of the columns and of the inner dimension of a product.
struct Part {
  int64_t first_col, cols, first_inner, inner;
};

/// Small products read their operands where they are: the cache holds them, and packing would take a fifth of the time.
/// Only strides of which a tile's rows do not meet in the same places of the cache.
bool in_place(const Kernels& kernels, const Product& p, const Operand& operand) {
  constexpr int64_t kMostRows = 1024, kMostStride = 256;
  return kernels.pack == 1 && p.inner <= kInner && p.rows <= kMostRows && p.cols <= kMostRows &&
         std::max(operand.row, operand.col) <= kMostStride;
}

/// Columns of B: packed, or in place but for the last ones when they fill no panel.
struct RightSide {
  Panels panels;
  const float* last;
};

RightSide prepare_right(const Kernels& kernels, const Product& p, const Part& part, float* packed, int64_t lanes,
                        const Parallel& parallel) {
  const int64_t wide = kernels.tile_cols, slots = kernels.slots(part.inner);
  const float* from = p.b.data + part.first_col * p.b.col + part.first_inner * p.b.row;
  auto pack = [&](int64_t first, int64_t end) {
    kernels.pack_cols(from + first * p.b.col, p.b.col, p.b.row, end - first, part.inner, packed + first * slots);
  };
  const int64_t whole = part.cols / wide * wide;
  if (p.b.col == 1 && in_place(kernels, p, p.b)) {
    if (whole < part.cols) pack(whole, part.cols);
    return {{from, wide, 1, p.b.row}, packed + whole * slots};
  }
  const int64_t panels = (part.cols + wide - 1) / wide;
  parallel(panels, std::max<int64_t>(1, panels / lanes),
           [&](int64_t begin, int64_t end) { pack(begin * wide, std::min(part.cols, end * wide)); });
  return {{packed, wide * slots, 1, wide}, packed + whole * slots};
}

/// Rows of A from `row` on, packed into `memory` or in place.
Panels prepare_left(const Kernels& kernels, const Product& p, const Part& part, int64_t row, int64_t rows,
                    float* memory) {
  const float* from = p.a.data + row * p.a.row + part.first_inner * p.a.col;
  const int64_t tall = kernels.tile_rows;
  if (memory == nullptr) return {from, tall * p.a.row, p.a.row, p.a.col};
  kernels.pack_rows(from, p.a.row, p.a.col, rows, part.inner, memory);
  return {memory, tall * kernels.slots(part.inner), 1, tall};
}

/// One part of B times all rows of A. Lanes take blocks of rows as they come: which lane computes a block changes no
/// bit of it.
void multiply_rows(const Kernels& kernels, const Product& p, const Part& part, const RightSide& right, int64_t lanes,
                   const Parallel& parallel) {
  const int64_t chunks = lanes * ((p.rows + lanes * kBlockRows - 1) / (lanes * kBlockRows));
  const int64_t block_rows = round_up((p.rows + chunks - 1) / chunks, kernels.tile_rows);
  const bool packed = !in_place(kernels, p, p.a);
  std::atomic<int64_t> next{0};
  parallel(lanes, 1, [&](int64_t, int64_t) {
    float* memory = packed ? memory_for_rows(block_rows * kernels.slots(part.inner) + kSlack) : nullptr;
    for (int64_t row = next.fetch_add(block_rows); row < p.rows; row = next.fetch_add(block_rows)) {
      const int64_t rows = std::min(block_rows, p.rows - row);
      const Panels left = prepare_left(kernels, p, part, row, rows, memory);
      kernels.block(left, right.panels, right.last, part.inner, p.c + row * p.ldc + part.first_col, p.ldc, rows,
                    part.cols, p.alpha, part.first_inner == 0 ? p.beta : 1.0F);
    }
  });
}

}  // namespace

void multiply_with(const Kernels& kernels, const Product& p, int64_t lanes, const Parallel& parallel) {
  const int64_t block_inner = kInner * kernels.pack;
  const int64_t most_cols = round_up(std::min(kBlockCols, p.cols), kernels.tile_cols);
  float* packed_b = memory_for_cols(most_cols * kernels.slots(std::min(block_inner, p.inner)) + kSlack);
  for (int64_t col = 0; col < p.cols; col += kBlockCols) {
    for (int64_t k = 0; k < p.inner; k += block_inner) {
      const Part part{col, std::min(kBlockCols, p.cols - col), k, std::min(block_inner, p.inner - k)};
      const RightSide right = prepare_right(kernels, p, part, packed_b, lanes, parallel);
      multiply_rows(kernels, p, part, right, lanes, parallel);
    }
  }
}

bool available(Engine engine) { return engine == Engine::own || &sgemm_ != nullptr; }

Engine engine_for(int64_t rows, int64_t cols, int64_t inner, bool bf16) {
  if (bf16 && bf16_kernels() != nullptr) return Engine::own;
  if (!available(Engine::library)) return Engine::own;
  if (!has_avx512()) return Engine::library;
  if (!library_uses_avx512()) return Engine::own;
  const double multiplications = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(inner);
  return multiplications <= kSmallProduct ? Engine::own : Engine::library;
}

const char* engine_name(Engine engine) { return engine == Engine::library ? "sgemm_" : kernels().name; }

void multiply(Engine engine, const Product& product, int64_t lanes, const Parallel& parallel) {
  if (engine == Engine::library) return multiply_by_library(product);
  const Kernels* const units = product.bf16 ? bf16_kernels() : nullptr;
  multiply_with(units != nullptr ? *units : kernels(), product, lanes, parallel);
}

}  // namespace stc::gemm
