#include "host/train/device_flag.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace stc::host {

DeviceFlag::DeviceFlag(const at::Tensor& on_device) {
  const at::Device device = on_device.device();
  if (device.is_cpu()) {
    on_host_ = on_device.to(at::kFloat).contiguous();
    return;
  }
  // Only page-locked memory is copied to without waiting.
  on_host_ = at::empty({}, at::TensorOptions(at::kFloat).pinned_memory(device.is_cuda()));
  on_host_.copy_(on_device, /*non_blocking=*/device.is_cuda());
  if (!device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  copied_.emplace(device.type());
  copied_->record(guard.getStream(device));
}

double DeviceFlag::value() {
  if (copied_) copied_->synchronize();
  copied_.reset();
  return static_cast<double>(*on_host_.const_data_ptr<float>());
}

}  // namespace stc::host
