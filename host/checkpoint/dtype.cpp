#include "host/checkpoint/dtype.hpp"

#include <array>

#include "stc/abi/core.h"

namespace stc::host {
namespace {

struct Dtype {
  int code;
  const char* name;
  uint64_t bytes;
};

constexpr std::array<Dtype, 12> kDtypes = {{
    {STC_DTYPE_BOOL, "BOOL", 1},
    {STC_DTYPE_UINT8, "U8", 1},
    {STC_DTYPE_INT8, "I8", 1},
    {STC_DTYPE_INT16, "I16", 2},
    {STC_DTYPE_UINT16, "U16", 2},
    {STC_DTYPE_FLOAT16, "F16", 2},
    {STC_DTYPE_BFLOAT16, "BF16", 2},
    {STC_DTYPE_INT32, "I32", 4},
    {STC_DTYPE_UINT32, "U32", 4},
    {STC_DTYPE_FLOAT32, "F32", 4},
    {STC_DTYPE_INT64, "I64", 8},
    {STC_DTYPE_FLOAT64, "F64", 8},
}};

const Dtype* find(int code) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.code == code) return &dtype;
  }
  return nullptr;
}

}  // namespace

uint64_t dtype_bytes(int dtype) {
  const Dtype* found = find(dtype);
  return found == nullptr ? 0 : found->bytes;
}

const char* safetensors_dtype_name(int dtype) {
  const Dtype* found = find(dtype);
  return found == nullptr ? nullptr : found->name;
}

std::optional<int> safetensors_dtype(std::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (name == dtype.name) return dtype.code;
  }
  return std::nullopt;
}

std::string safetensors_dtype_names() {
  std::string text;
  for (const Dtype& dtype : kDtypes) {
    if (!text.empty()) text += ", ";
    text += dtype.name;
  }
  return text;
}

std::optional<uint64_t> dense_bytes(int dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = dtype_bytes(dtype);
  if (bytes == 0) return std::nullopt;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes;
}

}  // namespace stc::host
