#define STC_KERNELS_ISA avx2
#include "kernels_body.hpp"
