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

/// One block of B, packed, times all rows of A. Lanes take blocks of rows as they come: which lane computes a block
/// changes no bit of it.
void multiply_rows(const Kernels& kernels, const Product& p, const float* packed_b, int64_t first_col, int64_t cols,
                   int64_t first_inner, int64_t inner, int64_t lanes, const Parallel& parallel) {
  const int64_t chunks = lanes * ((p.rows + lanes * kBlockRows - 1) / (lanes * kBlockRows));
  const int64_t block_rows = round_up((p.rows + chunks - 1) / chunks, kernels.tile_rows);
  std::atomic<int64_t> next{0};
  parallel(lanes, 1, [&](int64_t, int64_t) {
    float* packed_a = memory_for_rows(block_rows * kernels.slots(inner) + kSlack);
    for (int64_t row = next.fetch_add(block_rows); row < p.rows; row = next.fetch_add(block_rows)) {
      const int64_t rows = std::min(block_rows, p.rows - row);
      kernels.pack_rows(p.a.data + row * p.a.row + first_inner * p.a.col, p.a.row, p.a.col, rows, inner, packed_a);
      kernels.block(packed_a, packed_b, inner, p.c + row * p.ldc + first_col, p.ldc, rows, cols, p.alpha,
                    first_inner == 0 ? p.beta : 1.0F);
    }
  });
}

}  // namespace

void multiply_with(const Kernels& kernels, const Product& p, int64_t lanes, const Parallel& parallel) {
  const int64_t block_inner = kInner * kernels.pack;
  const int64_t most_cols = round_up(std::min(kBlockCols, p.cols), kernels.tile_cols);
  float* packed_b = memory_for_cols(most_cols * kernels.slots(std::min(block_inner, p.inner)) + kSlack);
  for (int64_t col = 0; col < p.cols; col += kBlockCols) {
    const int64_t cols = std::min(kBlockCols, p.cols - col);
    for (int64_t k = 0; k < p.inner; k += block_inner) {
      const int64_t inner = std::min(block_inner, p.inner - k);
      const float* from = p.b.data + col * p.b.col + k * p.b.row;
      const int64_t panels = (cols + kernels.tile_cols - 1) / kernels.tile_cols;
      parallel(panels, std::max<int64_t>(1, panels / lanes), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * kernels.tile_cols;
        kernels.pack_cols(from + first * p.b.col, p.b.col, p.b.row, std::min(cols, end * kernels.tile_cols) - first,
                          inner, packed_b + first * kernels.slots(inner));
      });
      multiply_rows(kernels, p, packed_b, col, cols, k, inner, lanes, parallel);
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
