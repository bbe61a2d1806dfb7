/// \file
/// How fast this machine multiplies matrices: the measure that a training step is compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stc::host {

/// Rows, inner dimension and columns of the product that is timed.
inline constexpr int64_t kGemmRows = 1024, kGemmInner = 1024, kGemmCols = 2048;

struct GemmRate {
  double flops = 0;  // per second, fp32, counting 2 per multiplication and addition
  std::string
      routine;  // that was the faster: "sgemm_" of LibTorch's library, or the name of own kernels' instruction set
};

/// The best of some repetitions, about a third of a second, on `threads` of the host's threads.
GemmRate measure_gemm(int64_t threads);

/// Matrices of a model that its positions are multiplied with: `count` of shape (out, in).
struct MatrixShape {
  int64_t out = 0, in = 0, count = 0;
};

/// The least time in seconds of the three products of each matrix: forward (positions, out), the gradient of its input
/// (positions, in) and its own gradient (out, in), each timed alone, with the engine that the fused pass takes, on one
/// thread or on all, whichever is faster. About 0.8 s for each different shape. \param bf16  as gemm::Product's
double products_seconds(const std::vector<MatrixShape>& matrices, int64_t positions, bool bf16, int64_t threads);

}  // namespace stc::host
