/// \file
/// A batch on its way from host memory to a model.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/data/loader.hpp"
#include "host/train/model.hpp"

namespace stc::host {

/// The tensors of a batch on the run's device, alive for one micro-batch.
struct DeviceBatch {
  std::vector<at::Tensor> tensors;
  std::vector<NamedHandle> inputs;
};

/// Copies without waiting for the device; on the CPU the tensors are the batch's own memory.
DeviceBatch to_device(const std::shared_ptr<const Batch>& batch, const at::Device& device);

}  // namespace stc::host
