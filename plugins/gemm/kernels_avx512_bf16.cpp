#define STC_GEMM_ISA avx512_bf16
#include "kernels_body.hpp"
