/// \file
/// Sizes and names of STC_DTYPE_*.
#pragma once

#include <cstdint>

#include "stc/abi/core.h"

namespace stc::host {

/// Bytes of one element; 0 for an unknown code.
constexpr uint64_t dtype_bytes(int dtype) {
  switch (dtype) {
    case STC_DTYPE_UINT8:
    case STC_DTYPE_INT8:
    case STC_DTYPE_BOOL: return 1;
    case STC_DTYPE_INT16:
    case STC_DTYPE_UINT16:
    case STC_DTYPE_FLOAT16:
    case STC_DTYPE_BFLOAT16: return 2;
    case STC_DTYPE_INT32:
    case STC_DTYPE_UINT32:
    case STC_DTYPE_FLOAT32: return 4;
    case STC_DTYPE_INT64:
    case STC_DTYPE_FLOAT64: return 8;
    default: return 0;
  }
}

}  // namespace stc::host
