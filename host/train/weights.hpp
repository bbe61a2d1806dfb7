/// \file
/// Weights of a checkpoint into a model.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/checkpoint/store.hpp"
#include "host/train/model.hpp"

namespace stc::host {

/// Copies every parameter and buffer by name, and tells the model.
/// \throws CheckpointError listing each tensor that is missing, unknown, or of another shape or dtype;
/// nothing is retried loosely.
void load_weights(Model& model, const LoadedCheckpoint& checkpoint);
/// The same from tensors by name. \param path where they come from, for messages
void load_weights(Model& model, const std::vector<HostTensor>& stored, const std::string& path);

/// A tensor that takes what a checkpoint holds under its name.
struct LiveTensor {
  std::string name;
  at::Tensor tensor;
};

/// Copies each stored tensor into the live one of its name. `subject` opens the message.
/// \throws CheckpointError as load_weights.
void copy_by_name(const std::vector<LiveTensor>& live, const std::vector<HostTensor>& stored,
                  const std::string& subject);

}  // namespace stc::host
