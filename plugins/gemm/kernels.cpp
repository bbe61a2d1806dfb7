#include "kernels.hpp"

#include <cstring>
#include <initializer_list>

namespace stc::gemm {

namespace baseline {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx512_bf16 {
extern const Kernels kKernels;
}
#endif

const Kernels* kernels(const char* name) {
  if (std::strcmp(name, "baseline") == 0) return &baseline::kKernels;
#if defined(__x86_64__)
  if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &avx2::kKernels;
  }
  if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f")) return &avx512::kKernels;
  if (std::strcmp(name, "avx512_bf16") == 0 && __builtin_cpu_supports("avx512bf16")) return &avx512_bf16::kKernels;
#endif
  return nullptr;
}

const Kernels* bf16_kernels() {
  static const Kernels* const found = kernels("avx512_bf16");
  return found;
}

const Kernels& kernels() {
  static const Kernels* const best = [] {
    for (const char* name : {"avx512", "avx2"}) {
      if (const Kernels* found = kernels(name)) return found;
    }
    return kernels("baseline");
  }();
  return *best;
}

}  // namespace stc::gemm
