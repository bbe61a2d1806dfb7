/// \file
/// Taking over what a library's entry returns: sized structs copied, names and slots checked.
#pragma once

#include <memory>
#include <vector>

#include "host/plugins/registry.hpp"

namespace stc::host {

/// Copies the set and all that hangs on it; every struct's size must lie between that of its first
/// version and STC_MAX_STRUCT_SIZE. The plugins must be those that the note names. Required slots
/// are not null. \throws PluginError.
std::vector<std::unique_ptr<LoadedPlugin>> import_set(const PluginNote& note, const stc_plugin_set* set);

/// Compares each operator schema of the set with LibTorch's. \throws PluginError naming the first
/// that differs.
void check_schemas(const PluginNote& note, const stc_plugin_set* set);

}  // namespace stc::host
