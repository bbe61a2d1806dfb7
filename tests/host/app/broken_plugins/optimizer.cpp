// An optimizer that writes into the first weight, and breaks one rule.

#include "stc/abi/optimizer.h"

#include <limits>

#include "library.hpp"

using stc::broken::breaks;

struct stc_optimizer {
  const stc_host* host;
  stc_tensor weight = nullptr;
};

namespace {

stc_error* bind(stc_optimizer* self, const stc_bound_parameter* parameters, uint32_t, uint32_t, const stc_group*,
                uint32_t, uint32_t) {
  self->weight = parameters->tensor;
  return nullptr;
}

float updated(float weight) {
  if (breaks("makes_infinite")) return std::numeric_limits<float>::infinity();
  if (breaks("makes_nan")) return std::numeric_limits<float>::quiet_NaN();
  return weight - 0.125F;
}

stc_error* step(stc_optimizer* self, const stc_step_info*, const stc_tensor* gradients, uint32_t) {
  if (gradients[0] == nullptr && !breaks("changes_without_gradient")) return nullptr;
  stc_tensor_info info{};
  info.struct_size = sizeof info;
  stc_error* error = self->host->tensor_info(self->host->ctx, self->weight, &info);
  if (error != nullptr) return error;
  auto* weights = static_cast<float*>(info.data);
  weights[0] = updated(weights[0]);
  return nullptr;
}

stc_error* state_save(stc_optimizer*, const stc_state_writer*) { return nullptr; }
stc_error* state_load(stc_optimizer*, const stc_state_reader*) { return nullptr; }
void reset(stc_optimizer*) {}

constexpr stc_optimizer_api kTable{.struct_size = sizeof(stc_optimizer_api),
                                   .reserved = 0,
                                   .create = stc::broken::create,
                                   .destroy = stc::broken::destroy,
                                   .bind = bind,
                                   .step = step,
                                   .state_save = state_save,
                                   .state_load = state_load,
                                   .reset = reset,
                                   .set_mode = nullptr,
                                   .set_group = nullptr,
                                   .get_extension = nullptr};

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_OPTIMIZER, kTable)
