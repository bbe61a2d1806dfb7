/// \file
/// Finds plugins by kind and name, and loads the libraries that hold them. Libraries stay for the
/// process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/declaration.hpp"
#include "host/plugins/note.hpp"
#include "host/plugins/search.hpp"

namespace stc::host {

/// A plugin of a loaded library. Lives for the process.
struct LoadedPlugin {
  PluginDeclaration declaration;
  std::string library;
  PluginNote note;
  std::shared_ptr<const void> storage;  // of the two copies below
  const stc_plugin* plugin = nullptr;   // struct copied by size
  const void* table = nullptr;          // stc_<kind>_api copied by size, required slots checked
};

/// A library that could not be read or loaded, for `plugins list`.
struct RefusedLibrary {
  std::string path;
  std::string reason;
};

class Registry : public PluginCatalog {
 public:
  /// Search order: cli_paths (--plugin-path), plugins.path (add_search_paths), STC_PLUGIN_PATH, and
  /// the folder of the installed or built plugins beside the program. A path may name one .so.
  explicit Registry(std::vector<std::string> cli_paths);
  ~Registry() override;

  void add_search_paths(const std::vector<std::string>& paths) override;
  const PluginDeclaration* find(int kind, std::string_view name) override;
  std::vector<std::string> names(int kind) override;

  /// The plugin, loaded. \throws PluginError naming the places searched and the nearest name.
  const LoadedPlugin& load(int kind, std::string_view name);
  /// Loads one library and returns its plugins; all gates. \throws PluginError.
  std::vector<const LoadedPlugin*> load_library(const std::string& path);

  /// Notes of every library in the search order, the first of equal kind and name wins. Loads
  /// nothing.
  std::vector<PluginNote> notes();
  std::vector<RefusedLibrary> refused();
  /// Places that the user named and that yield nothing (LibraryIndex::faults).
  std::vector<SearchFault> search_faults();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The registry of the program: made at the first call, with that call's paths, and never
/// destroyed.
Registry& process_registry(const std::vector<std::string>& cli_paths);

}  // namespace stc::host
