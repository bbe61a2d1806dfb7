/// \file
/// Element types: the codes of the ABI, their sizes, and the C++ types that hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "stc/abi/core.h"

namespace stc {

/// Bytes of one element; 0 for an unknown code.
constexpr std::size_t dtype_size(int32_t dtype) {
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

/// "float32" and so on; "unknown" for a code that is none.
constexpr const char* dtype_name(int32_t dtype) {
  switch (dtype) {
    case STC_DTYPE_UINT8: return "uint8";
    case STC_DTYPE_INT8: return "int8";
    case STC_DTYPE_INT16: return "int16";
    case STC_DTYPE_INT32: return "int32";
    case STC_DTYPE_INT64: return "int64";
    case STC_DTYPE_FLOAT16: return "float16";
    case STC_DTYPE_BFLOAT16: return "bfloat16";
    case STC_DTYPE_FLOAT32: return "float32";
    case STC_DTYPE_FLOAT64: return "float64";
    case STC_DTYPE_BOOL: return "bool";
    case STC_DTYPE_UINT16: return "uint16";
    case STC_DTYPE_UINT32: return "uint32";
    default: return "unknown";
  }
}

namespace detail {

template <class T>
constexpr int32_t code_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return STC_DTYPE_BOOL;
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::byte> || std::is_same_v<T, uint8_t>) {
    return STC_DTYPE_UINT8;
  } else if constexpr (std::is_same_v<T, int8_t>) {
    return STC_DTYPE_INT8;
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return STC_DTYPE_INT16;
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    return STC_DTYPE_UINT16;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return STC_DTYPE_INT32;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return STC_DTYPE_UINT32;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) {
    return STC_DTYPE_INT64;
  } else if constexpr (std::is_same_v<T, float>) {
    return STC_DTYPE_FLOAT32;
  } else if constexpr (std::is_same_v<T, double>) {
    return STC_DTYPE_FLOAT64;
  } else {
    return 0;
  }
}

}  // namespace detail

/// The code of a C++ type; 0 where there is none (float16 and bfloat16 have no C++ type here).
template <class T>
inline constexpr int32_t dtype_of = detail::code_of<std::remove_cv_t<T>>();

}  // namespace stc
