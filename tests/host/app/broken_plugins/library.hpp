/// \file
/// What the libraries of this folder share. Each source is built once for every rule that it can break; BROKEN_NAME is
/// the rule, and the name of the plugin.
#pragma once

#include <string_view>

#include "stc/abi/plugin.h"
#include "stc/core/note.hpp"

namespace stc::broken {

constexpr bool breaks(std::string_view rule) { return rule == BROKEN_NAME; }

template <class Instance>
stc_error* create(const stc_host* host, const stc_config* /*config*/, Instance** out) {
  *out = new Instance{host};
  return nullptr;
}

template <class Instance>
void destroy(Instance* self) {
  delete self;
}

}  // namespace stc::broken

/// Makes the library: one plugin of a kind with its table.
#define STC_BROKEN_LIBRARY(kind, table)                                                                       \
  STC_PLUGIN_NOTE(kind, BROKEN_NAME, "1.0.0", "breaks a rule")                                                \
  STC_LIBRARY_NOTE_plain() extern "C" __attribute__((visibility("default"))) stc_error* stc_plugin_entry_v1(  \
      const stc_host*, const stc_plugin_set** out) {                                                          \
    static constexpr stc_plugin plugin{STC_SIZE_TO_END(stc_plugin, get_extension),                            \
                                       0,                                                                     \
                                       kind,                                                                  \
                                       0,                                                                     \
                                       BROKEN_NAME,                                                           \
                                       "1.0.0",                                                               \
                                       "breaks a rule",                                                       \
                                       nullptr,                                                               \
                                       0,                                                                     \
                                       sizeof(stc_param),                                                     \
                                       &(table),                                                              \
                                       nullptr};                                                              \
    static constexpr const stc_plugin* plugins[] = {&plugin};                                                 \
    static constexpr stc_plugin_set set{STC_SIZE_TO_END(stc_plugin_set, schemas), 0, plugins, 1, 0, nullptr}; \
    *out = &set;                                                                                              \
    return nullptr;                                                                                           \
  }
