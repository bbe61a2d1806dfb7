/// \file
/// A number on the device that the host reads later, without waiting for the device meanwhile.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

namespace stc::host {

/// Starts to copy a 0-d float32 tensor to the host when constructed; value() waits for that copy alone.
/// Untested on devices other than the CPU, where the copy is made at once. [train-thread]
class DeviceFlag {
 public:
  explicit DeviceFlag(const at::Tensor& on_device);
  double value();

 private:
  at::Tensor on_host_;
  std::optional<c10::Event> copied_;
};

}  // namespace stc::host
