#include "host/checkpoint/dtype.hpp"

#include <array>

#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

struct Dtype {
  int code;
  const char* name;
};

constexpr std::array<Dtype, 12> kDtypes = {{
    {STC_DTYPE_BOOL, "BOOL"},
    {STC_DTYPE_UINT8, "U8"},
    {STC_DTYPE_INT8, "I8"},
    {STC_DTYPE_INT16, "I16"},
    {STC_DTYPE_UINT16, "U16"},
    {STC_DTYPE_FLOAT16, "F16"},
    {STC_DTYPE_BFLOAT16, "BF16"},
    {STC_DTYPE_INT32, "I32"},
    {STC_DTYPE_UINT32, "U32"},
    {STC_DTYPE_FLOAT32, "F32"},
    {STC_DTYPE_INT64, "I64"},
    {STC_DTYPE_FLOAT64, "F64"},
}};

const Dtype* find(int code) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.code == code) return &dtype;
  }
  return nullptr;
}

}  // namespace

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
  uint64_t bytes = dtype_size(dtype);
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
