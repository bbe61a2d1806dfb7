/// \file
/// The create_inner service: one plugin creates another.
#pragma once

#include <memory>

#include "host/services/services.hpp"

namespace stc::host {

struct InnerPlugin {
  std::unique_ptr<Services> services;  // owns the host table of the inner instance
  const void* table = nullptr;
  void* instance = nullptr;
  const stc_plugin* plugin = nullptr;
};

/// Loads and creates. \returns NOT_FOUND, INVALID_ARGUMENT, or the inner plugin's own error, its
/// name in front.
stc_error* create_inner_plugin(RunContext* context, int kind, const char* name, const stc_config* config,
                               InnerPlugin& out);

}  // namespace stc::host
