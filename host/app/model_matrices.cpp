#include "host/app/model_matrices.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "host/app/composition.hpp"
#include "host/services/tensor_handle.hpp"

namespace stc::host {
namespace {

bool multiplies(const ModelParameter& parameter) {
  const bool tied_head = parameter.role == STC_ROLE_EMBEDDING && !parameter.aliases.empty();
  return parameter.role == STC_ROLE_LINEAR || parameter.role == STC_ROLE_HEAD || tied_head;
}

}  // namespace

std::vector<MatrixShape> matrices_of_model(const Config& config, Registry& registry) {
  Run run;
  run.config = config;
  run.settings = make_settings(run.config);
  Composition composition(run, registry, ComposeMode::kCheck);
  composition.prepare_context();
  composition.build_precision();
  composition.build_model();
  std::vector<MatrixShape> out;
  for (const ModelParameter& parameter : run.model->parameters()) {
    const at::Tensor& tensor = to_tensor(parameter.tensor);
    if (!multiplies(parameter) || tensor.dim() != 2) continue;
    const auto same = [&](const MatrixShape& shape) {
      return shape.out == tensor.size(0) && shape.in == tensor.size(1);
    };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) {
      out.push_back({tensor.size(0), tensor.size(1), 1});
    } else {
      ++known->count;
    }
  }
  return out;
}

}  // namespace stc::host
