/// \file
/// The tensor services of FakeHost, and state entries with tensors, by LibTorch's C++ API. Level
/// exact.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include "stc/core/dtype.hpp"
#include "stc/testing/fake_host.hpp"
#include "stc/testing/memory_state.hpp"

namespace stc::testing {

/// 0 for types that the ABI has no code for.
inline int32_t dtype_code(at::ScalarType type) {
  switch (type) {
    case at::kByte: return STC_DTYPE_UINT8;
    case at::kChar: return STC_DTYPE_INT8;
    case at::kShort: return STC_DTYPE_INT16;
    case at::kInt: return STC_DTYPE_INT32;
    case at::kLong: return STC_DTYPE_INT64;
    case at::kHalf: return STC_DTYPE_FLOAT16;
    case at::kBFloat16: return STC_DTYPE_BFLOAT16;
    case at::kFloat: return STC_DTYPE_FLOAT32;
    case at::kDouble: return STC_DTYPE_FLOAT64;
    case at::kBool: return STC_DTYPE_BOOL;
    default: return 0;
  }
}
inline at::ScalarType scalar_type(int32_t dtype) {
  switch (dtype) {
    case STC_DTYPE_UINT8: return at::kByte;
    case STC_DTYPE_INT8: return at::kChar;
    case STC_DTYPE_INT16: return at::kShort;
    case STC_DTYPE_INT32: return at::kInt;
    case STC_DTYPE_INT64: return at::kLong;
    case STC_DTYPE_FLOAT16: return at::kHalf;
    case STC_DTYPE_BFLOAT16: return at::kBFloat16;
    case STC_DTYPE_FLOAT64: return at::kDouble;
    case STC_DTYPE_BOOL: return at::kBool;
    default: return at::kFloat;
  }
}

inline at::Tensor& as_tensor(stc_tensor handle) { return *reinterpret_cast<at::Tensor*>(handle); }
inline stc_tensor as_handle(at::Tensor& tensor) { return reinterpret_cast<stc_tensor>(&tensor); }

namespace detail {

inline stc_error* torch_info(void* ctx, stc_tensor handle, stc_tensor_info* out) {
  const at::Tensor& tensor = as_tensor(handle);
  if (tensor.layout() != at::kStrided || dtype_code(tensor.scalar_type()) == 0) {
    const stc_host& table = static_cast<FakeHost*>(ctx)->raw_table();
    return table.error_new(ctx, STC_ERROR_UNSUPPORTED, "tensor: sparse, or of a type without a code");
  }
  stc_tensor_info info{};
  info.dtype = dtype_code(tensor.scalar_type());
  info.ndim = static_cast<int32_t>(tensor.dim());
  info.sizes = tensor.sizes().data();
  info.strides = tensor.strides().data();
  info.data = tensor.data_ptr();
  info.device_type = tensor.is_cpu() ? STC_DEVICE_CPU : STC_DEVICE_OTHER;
  info.device_index = tensor.device().index();
  info.requires_grad = tensor.requires_grad() ? 1 : 0;
  info.is_contiguous = tensor.is_contiguous() ? 1 : 0;
  stc::detail::export_to(out, info);
  return nullptr;
}

inline MemoryState::Entry tensor_entry(stc_tensor handle) {
  const at::Tensor dense = as_tensor(handle).detach().cpu().contiguous();
  MemoryState::Entry entry;
  entry.dtype = dtype_code(dense.scalar_type());
  entry.is_tensor = true;
  entry.sizes = dense.sizes().vec();
  entry.data.assign(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
  return entry;
}

inline stc_tensor entry_tensor(const MemoryState::Entry& entry) {
  auto* data = const_cast<char*>(entry.data.data());
  return reinterpret_cast<stc_tensor>(
      new at::Tensor(at::from_blob(data, entry.sizes, at::TensorOptions(scalar_type(entry.dtype))).clone()));
}

}  // namespace detail

/// A FakeHost with tensors. operator_check accepts every schema: whether LibTorch has it shows at
/// the call.
class TorchHost : public FakeHost {
 public:
  TorchHost() {
    table().tensor_info = &detail::torch_info;
    table().tensor_delete = [](void*, stc_tensor tensor) { delete &as_tensor(tensor); };
    table().tensor_from_buffer = [](void*, const stc_buffer* buffer, void (*release)(void*), void* arg,
                                    stc_tensor* out) -> stc_error* {
      const at::IntArrayRef sizes(buffer->sizes, static_cast<std::size_t>(buffer->ndim));
      const auto deleter = [release, arg](void*) {
        if (release != nullptr) {
          release(arg);
        }
      };
      *out = reinterpret_cast<stc_tensor>(
          new at::Tensor(at::from_blob(buffer->data, sizes, deleter, at::TensorOptions(scalar_type(buffer->dtype)))));
      return nullptr;
    };
    table().operator_check = [](void*, const char*) -> stc_error* { return nullptr; };
    MemoryState::tensor_to_entry = &detail::tensor_entry;
    MemoryState::entry_to_tensor = &detail::entry_tensor;
  }
};

/// Equal shape, type and bits.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined() || a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return false;
  }
  const at::Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

}  // namespace stc::testing
