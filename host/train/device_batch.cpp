#include "host/train/device_batch.hpp"

#include <utility>

#include "host/train/tensor_bridge.hpp"

namespace stc::host {

DeviceBatch to_device(const std::shared_ptr<const Batch>& batch, const at::Device& device) {
  DeviceBatch moved;
  moved.tensors.reserve(batch->fields.size());
  for (const BatchField& field : batch->fields) {
    at::Tensor tensor = from_batch_field(field);
    if (device != at::kCPU) tensor = tensor.to(device, tensor.scalar_type(), /*non_blocking=*/true);
    moved.tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < moved.tensors.size(); ++i) {
    moved.inputs.push_back({batch->fields[i].name, borrow_handle(moved.tensors[i])});
  }
  return moved;
}

}  // namespace stc::host
