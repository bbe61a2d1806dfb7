/// \file
/// Weights of a checkpoint into a model.
#pragma once

#include <string>
#include <vector>

#include "host/checkpoint/store.hpp"
#include "host/train/model.hpp"

namespace stc::host {

/// Copies every parameter and buffer by name, and tells the model.
/// \throws CheckpointError listing each tensor that is missing, unknown, or of another shape or dtype;
/// nothing is retried loosely.
void load_weights(Model& model, const LoadedCheckpoint& checkpoint);
/// The same from tensors by name. \param path where they come from, for messages
void load_weights(Model& model, const std::vector<HostTensor>& stored, const std::string& path);

}  // namespace stc::host
