/// \file
/// Products of fp32 matrices on the CPU, for plugins that compute outside of LibTorch's operators.
///
/// Two engines: the routine that LibTorch's library exports (sgemm_, MKL's in most builds), and kernels of our own.
/// MKL uses AVX-512 on Intel's processors alone, so that elsewhere ours are about twice as fast; they also win where a
/// product is so small that the call itself counts. The choice depends on the processor and the sizes, never on time.
#pragma once

#include <cstdint>

#include "parallel.hpp"

namespace stc::gemm {

/// Element (i, j) lies at data[i * row + j * col]; row or col is 1.
struct Operand {
  const float* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
};

/// C = alpha A B + beta C, with A (rows, inner), B (inner, cols) and C (rows, cols) dense in its columns. Sizes are
/// below 2^31 and at least 1.
struct Product {
  Operand a, b;
  float* c = nullptr;
  int64_t ldc = 0;  // elements from one row of C to the next
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t inner = 0;
  float alpha = 1.0F;
  float beta = 0.0F;  // 0: C is not read
  /// A and B hold values of bf16: where the processor has units for it they multiply, with sums in fp32 as everywhere.
  /// Other values are rounded to the nearest there. Subnormal numbers count as zero there.
  bool bf16 = false;
};

enum class Engine {
  library,  // LibTorch's routine, on LibTorch's threads
  own,      // kernels for the best instruction set
};

/// False only for Engine::library where LibTorch's library exports no sgemm_.
bool available(Engine engine);

/// The engine that multiply() takes for these sizes on this processor.
Engine engine_for(int64_t rows, int64_t cols, int64_t inner, bool bf16 = false);

/// "sgemm_" for the library, "avx512", "avx2" or "baseline" for our own.
const char* engine_name(Engine engine);

/// Engine::library multiplies in fp32 whatever `bf16` says. Of Engine::own the result does not depend on lanes or
/// parallel, in bits; of Engine::library LibTorch's number of threads may count. Working memory belongs to the threads
/// and stays: at most 2.3 MB for the caller, 0.2 MB for each lane. Any thread. \param lanes  threads of `parallel` to
/// use, at least 1; with Engine::library LibTorch decides
void multiply(Engine engine, const Product& product, int64_t lanes, const Parallel& parallel);

/// With engine_for() the product.
inline void multiply(const Product& product, int64_t lanes, const Parallel& parallel) {
  multiply(engine_for(product.rows, product.cols, product.inner, product.bf16), product, lanes, parallel);
}

/// On the calling thread.
inline void multiply(const Product& product) { multiply(product, 1, Parallel{}); }

}  // namespace stc::gemm
