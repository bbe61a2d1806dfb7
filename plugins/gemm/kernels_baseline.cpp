#define STC_GEMM_ISA baseline
#include "kernels_body.hpp"
