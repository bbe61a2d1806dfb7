#define STC_KERNELS_ISA baseline
#include "kernels_body.hpp"
