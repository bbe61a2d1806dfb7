/// \file
/// Loading one library, once per process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/plugins/registry.hpp"

namespace stc::host {

/// A library that passed every gate. Never destroyed, never unloaded.
struct LoadedLibrary {
  std::string path;
  std::vector<std::unique_ptr<LoadedPlugin>> plugins;
};

/// All gates, dlopen, the entry, the tables. The same file again (by device and inode) answers what
/// the first call did, its refusal included: an entry is called once. [any-thread] \throws
/// PluginError.
const LoadedLibrary& load_library_once(const std::string& path);

}  // namespace stc::host
