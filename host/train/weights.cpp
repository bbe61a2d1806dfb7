#include "host/train/weights.hpp"

#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"
#include "stc/core/shape.hpp"

namespace stc::host {
namespace {

/// Copies a stored tensor into a live one. Appends what does not fit to `problems`.
void load_into(const at::Tensor& live, const std::string& name, const std::vector<HostTensor>& stored,
               std::set<std::string>& seen, std::vector<std::string>& problems) {
  for (const HostTensor& candidate : stored) {
    if (candidate.name != name) continue;
    seen.insert(name);
    if (live.sizes() != c10::IntArrayRef(candidate.shape)) {
      problems.push_back(name + ": checkpoint has shape " + shape_text(candidate.shape) +
                         ", the model has " + shape_text(live.sizes()));
    } else if (to_scalar_type(candidate.dtype) != live.scalar_type()) {
      problems.push_back(name + ": checkpoint has another dtype than the model");
    } else {
      live.copy_(view_of_host(candidate));
    }
    return;
  }
  problems.push_back(name + ": missing in the checkpoint");
}

}  // namespace

void load_weights(Model& model, const LoadedCheckpoint& checkpoint) {
  load_weights(model, checkpoint.model, checkpoint.path);
}

void load_weights(Model& model, const std::vector<HostTensor>& tensors, const std::string& path) {
  const at::NoGradGuard no_grad;
  std::set<std::string> seen;
  std::vector<std::string> problems;
  for (const ModelParameter& parameter : model.parameters()) {
    load_into(to_tensor(parameter.tensor), parameter.name, tensors, seen, problems);
  }
  for (const NamedHandle& buffer : model.buffers()) {
    load_into(to_tensor(buffer.tensor), buffer.name, tensors, seen, problems);
  }
  for (const HostTensor& stored : tensors) {
    if (!seen.count(stored.name)) problems.push_back(stored.name + ": not a tensor of the model");
  }
  if (!problems.empty()) {
    std::string text;
    for (const std::string& problem : problems) text += "\n    " + problem;
    throw CheckpointError(path + ": does not fit the model:" + text,
                          "use the model settings that the checkpoint was made with");
  }
  model.parameters_changed();
}

}  // namespace stc::host
