#define STC_KERNELS_ISA avx512
#include "kernels_body.hpp"
