#define STC_GEMM_ISA avx512
#include "kernels_body.hpp"
