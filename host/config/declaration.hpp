/// \file
/// What a key of the configuration may hold: one form for the host's own keys and for plugins'.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stc/abi/core.h"

namespace stc::host {

/// An owned copy of stc_param. `type` and `flags` are STC_PARAM_*.
struct Param {
  std::string name;
  int type = STC_PARAM_STRING;
  unsigned flags = 0;
  std::optional<std::string> default_text;  // YAML text; nullopt: null or required
  double min = 0;
  double max = 0;
  std::vector<std::string> enum_values;
  std::string doc;
  std::string since;
  std::string deprecated;
};

/// One plugin as the configuration sees it.
struct PluginDeclaration {
  int kind = 0;  // STC_KIND_*
  std::string name;
  std::string version;
  std::string doc;
  std::string library;  // path of the .so
  std::vector<Param> params;
};

/// True for what is meant as a file rather than a name: holds a '/' or ends in ".so".
inline bool is_library_path(std::string_view word) {
  return word.find('/') != std::string_view::npos || word.ends_with(".so");
}

/// Where the configuration finds the declared keys of the plugins that it names.
/// Implemented by host/plugins/registry.hpp; tests use a table.
class PluginCatalog {
 public:
  virtual ~PluginCatalog() = default;
  /// Called once, with plugins.path, before the first find.
  virtual void add_search_paths(const std::vector<std::string>& paths) = 0;
  /// Loads the library that holds the plugin, if need be. nullptr: no such plugin.
  /// \throws PluginError when it exists but cannot be loaded.
  virtual const PluginDeclaration* find(int kind, std::string_view name) = 0;
  /// Names of the plugins of a kind, for "allowed" and "nearest" in messages. Loads nothing.
  virtual std::vector<std::string> names(int kind) = 0;
};

}  // namespace stc::host
