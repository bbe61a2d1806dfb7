/// \file
/// The one place where handles of the plugin boundary become at::Tensor and back, and stc's dtype
/// codes LibTorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include "stc/abi/core.h"

namespace stc::host {

/// The tensor behind a handle, which must not be null. Lives as long as the handle.
at::Tensor& to_tensor(stc_tensor handle);
/// A handle that lives as long as `tensor` does, for calls that borrow. Null for an undefined tensor.
stc_tensor borrow_handle(const at::Tensor& tensor);
/// A new handle, owned by the caller; dies by delete_handle. Null for an undefined tensor.
stc_tensor to_handle(at::Tensor tensor);
/// Null is fine.
void delete_handle(stc_tensor handle) noexcept;

/// STC_DTYPE_* <-> LibTorch's type. \throws TrainError for a type that the other side does not have.
at::ScalarType to_scalar_type(int dtype);
int to_stc_dtype(at::ScalarType type);
/// The same, 0 where there is none.
int find_stc_dtype(at::ScalarType type) noexcept;

}  // namespace stc::host
