#include "host/services/tensor_handle.hpp"

#include <string>
#include <utility>

#include <torch/csrc/inductor/aoti_torch/utils.h>

#include "host/errors/error.hpp"

namespace stc::host {

at::Tensor& to_tensor(stc_tensor handle) { return *torch::aot_inductor::tensor_handle_to_tensor_pointer(handle); }

stc_tensor borrow_handle(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return torch::aot_inductor::tensor_pointer_to_tensor_handle(const_cast<at::Tensor*>(&tensor));
}

stc_tensor to_handle(at::Tensor tensor) {
  if (!tensor.defined()) return nullptr;
  return torch::aot_inductor::new_tensor_handle(std::move(tensor));
}

void delete_handle(stc_tensor handle) noexcept {
  if (handle != nullptr) delete torch::aot_inductor::tensor_handle_to_tensor_pointer(handle);
}

at::ScalarType to_scalar_type(int dtype) {
  switch (dtype) {
    case STC_DTYPE_UINT8: return at::kByte;
    case STC_DTYPE_INT8: return at::kChar;
    case STC_DTYPE_INT16: return at::kShort;
    case STC_DTYPE_INT32: return at::kInt;
    case STC_DTYPE_INT64: return at::kLong;
    case STC_DTYPE_FLOAT16: return at::kHalf;
    case STC_DTYPE_BFLOAT16: return at::kBFloat16;
    case STC_DTYPE_FLOAT32: return at::kFloat;
    case STC_DTYPE_FLOAT64: return at::kDouble;
    case STC_DTYPE_BOOL: return at::kBool;
    case STC_DTYPE_UINT16: return at::kUInt16;
    case STC_DTYPE_UINT32: return at::kUInt32;
    default: throw TrainError("tensor: dtype code " + std::to_string(dtype) + " is none of stc's");
  }
}

int find_stc_dtype(at::ScalarType type) noexcept {
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
    case at::kUInt16: return STC_DTYPE_UINT16;
    case at::kUInt32: return STC_DTYPE_UINT32;
    default: return 0;
  }
}

int to_stc_dtype(at::ScalarType type) {
  const int dtype = find_stc_dtype(type);
  if (dtype == 0) {
    throw TrainError(std::string("tensor: dtype ") + c10::toString(type) + " has no code at the plugin boundary");
  }
  return dtype;
}

}  // namespace stc::host
