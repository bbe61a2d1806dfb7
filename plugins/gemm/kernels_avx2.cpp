#define STC_GEMM_ISA avx2
#include "kernels_body.hpp"
