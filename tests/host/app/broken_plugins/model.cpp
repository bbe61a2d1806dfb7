// A model without parameters.

#include "stc/abi/model.h"

#include "library.hpp"

struct stc_model {
  const stc_host* host;
};

namespace {

stc_error* parameters(stc_model*, stc_parameter_list* out) {
  out->stride = sizeof(stc_parameter);
  return nullptr;
}

stc_error* forward(stc_model*, const stc_pass_info*, const stc_tensor_list*, const stc_output_writer*) {
  return nullptr;
}

constexpr stc_model_api table() {
  stc_model_api table{};
  table.struct_size = sizeof table;
  table.create = stc::broken::create;
  table.destroy = stc::broken::destroy;
  table.parameters = parameters;
  table.forward = forward;
  return table;
}

constexpr stc_model_api kTable = table();

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_MODEL, kTable)
