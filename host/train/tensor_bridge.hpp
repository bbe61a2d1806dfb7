/// \file
/// Batches and checkpoint contents as tensors. Handles: host/services/tensor_handle.hpp.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "host/checkpoint/safetensors.hpp"
#include "host/data/loader.hpp"
#include "host/services/tensor_handle.hpp"

namespace stc::host {

/// A CPU tensor over the memory of a batch field, which it keeps alive.
at::Tensor from_batch_field(const BatchField& field);
/// A dense copy in host memory, made when the call returns; waits for the device.
HostTensor copy_to_host(const std::string& name, const at::Tensor& tensor);
/// A CPU tensor over host memory, which it keeps alive. Read-only when the memory is (a mapped file):
/// copy from it, never into it.
at::Tensor view_of_host(const HostTensor& tensor);

}  // namespace stc::host
