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
      problems.push_back(name + ": checkpoint has shape " + shape_text(candidate.shape) + ", the model has " +
                         shape_text(live.sizes()));
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

void copy_by_name(const std::vector<LiveTensor>& live, const std::vector<HostTensor>& stored,
                  const std::string& subject) {
  const at::NoGradGuard no_grad;
  std::set<std::string> seen;
  std::vector<std::string> problems;
  for (const LiveTensor& tensor : live) load_into(tensor.tensor, tensor.name, stored, seen, problems);
  for (const HostTensor& tensor : stored) {
    if (!seen.count(tensor.name)) problems.push_back(tensor.name + ": not a tensor of the model");
  }
  if (problems.empty()) return;
  std::string text;
  for (const std::string& problem : problems) text += "\n    " + problem;
  throw CheckpointError(subject + ": does not fit the model:" + text,
                        "use the model settings that the checkpoint was made with");
}

void load_weights(Model& model, const std::vector<HostTensor>& stored, const std::string& path) {
  std::vector<LiveTensor> live;
  for (const ModelParameter& parameter : model.parameters()) {
    live.push_back({parameter.name, to_tensor(parameter.tensor)});
  }
  for (const NamedHandle& buffer : model.buffers()) {
    live.push_back({buffer.name, to_tensor(buffer.tensor)});
  }
  copy_by_name(live, stored, path);
  model.parameters_changed();
}

}  // namespace stc::host
