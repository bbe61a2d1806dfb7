#include "kernels.hpp"

#include <cstring>

namespace stc::reference_transformer {

namespace baseline {
extern const KernelSet kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const KernelSet kKernels;
}
namespace avx512 {
extern const KernelSet kKernels;
}
#endif

const KernelSet* cpu_kernels(const char* name) {
  if (std::strcmp(name, "baseline") == 0) return &baseline::kKernels;
#if defined(__x86_64__)
  if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &avx2::kKernels;
  }
  if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")) {
    return &avx512::kKernels;
  }
#endif
  return nullptr;
}

const KernelSet& cpu_kernels() {
  static const KernelSet* const best = [] {
    for (const char* name : {"avx512", "avx2"}) {
      if (const KernelSet* kernels = cpu_kernels(name)) return kernels;
    }
    return cpu_kernels("baseline");
  }();
  return *best;
}

}  // namespace stc::reference_transformer
