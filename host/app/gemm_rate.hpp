/// \file
/// How fast this machine multiplies matrices: the measure that a training step is compared with.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace stc::host
