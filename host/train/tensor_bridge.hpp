/// \file
/// The one place where handles of the plugin boundary become at::Tensor and back.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "host/checkpoint/safetensors.hpp"
#include "host/data/loader.hpp"
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

/// A CPU tensor over the memory of a batch field, which it keeps alive.
at::Tensor from_batch_field(const BatchField& field);
/// A dense copy in host memory, made when the call returns; waits for the device.
HostTensor copy_to_host(const std::string& name, const at::Tensor& tensor);
/// A CPU tensor over host memory, which it keeps alive. Read-only when the memory is (a mapped file):
/// copy from it, never into it.
at::Tensor view_of_host(const HostTensor& tensor);

}  // namespace stc::host
