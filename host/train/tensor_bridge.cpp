#include "host/train/tensor_bridge.hpp"

#include <memory>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "host/errors/error.hpp"
#include "host/train/host_copies.hpp"
#include "host/train/model.hpp"

namespace stc::host {

void TensorHandle::reset() { delete_handle(std::exchange(raw_, nullptr)); }

at::Tensor from_batch_field(const BatchField& field) {
  return at::from_blob(
      field.data.get(), field.shape, [owner = field.data](void*) {},
      at::TensorOptions().dtype(to_scalar_type(field.dtype)));
}

namespace {

std::shared_ptr<at::Tensor> memory_for(const at::Tensor& tensor) {
  return std::make_shared<at::Tensor>(
      at::empty(tensor.sizes(), at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU)));
}

HostTensor copy_into(std::shared_ptr<at::Tensor> owner, const std::string& name, const at::Tensor& tensor) {
  owner->copy_(tensor.detach());
  HostTensor copy;
  copy.name = name;
  copy.dtype = to_stc_dtype(tensor.scalar_type());
  copy.shape = tensor.sizes().vec();
  copy.data = owner->data_ptr();
  copy.bytes = owner->nbytes();
  copy.owner = std::move(owner);
  return copy;
}

}  // namespace

HostTensor copy_to_host(const std::string& name, const at::Tensor& tensor) {
  return copy_into(memory_for(tensor), name, tensor);
}

HostTensor HostCopies::take(const std::string& group, const std::string& name, const at::Tensor& tensor) {
  std::shared_ptr<at::Tensor>& kept = kept_[{group, name}];
  const bool free = kept != nullptr && kept.use_count() == 1 && kept->scalar_type() == tensor.scalar_type() &&
                    kept->sizes() == tensor.sizes();
  if (!free) kept = memory_for(tensor);
  return copy_into(kept, name, tensor);
}

at::Tensor view_of_host(const HostTensor& tensor) {
  const at::ScalarType type = to_scalar_type(tensor.dtype);
  uint64_t wanted = c10::elementSize(type);
  for (const int64_t size : tensor.shape) wanted *= static_cast<uint64_t>(size);
  if (wanted != tensor.bytes) {
    throw CheckpointError(tensor.name + ": holds " + std::to_string(tensor.bytes) +
                          " bytes, its shape and dtype need " + std::to_string(wanted));
  }
  return at::from_blob(
      const_cast<void*>(tensor.data), tensor.shape, [owner = tensor.owner](void*) {}, at::TensorOptions().dtype(type));
}

}  // namespace stc::host
