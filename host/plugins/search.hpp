/// \file
/// Which libraries lie in the search path and what they hold, from their notes alone: loads
/// nothing, so the launcher answers `plugins list` with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/plugins/note.hpp"

namespace stc::host {

/// One file of the search path that is, or looks like, a library of plugins.
struct IndexedLibrary {
  std::string path;
  std::optional<PluginNote> note;  // absent when the file cannot be read as a library
  std::string refusal;             // why it is not used; empty: usable as far as the file tells
  std::string hint;
  bool usable() const { return refusal.empty(); }
};

/// A plugin of a usable library.
struct IndexedPlugin {
  const IndexedLibrary* library = nullptr;
  const NotePlugin* record = nullptr;
  const IndexedLibrary* shadowed_by = nullptr;  // an earlier library holds the same kind and name
};

/// A folder or file of the search path.
struct SearchPlace {
  std::string path;
  std::string origin;  // "--plugin-path", "plugins.path", "STC_PLUGIN_PATH", "installed"
  bool exists = false;
};

struct SearchFault {
  std::string origin;   // as SearchPlace
  std::string message;  // "/nowhere does not exist"
};

/// Not thread-safe; the registry guards it.
class LibraryIndex {
 public:
  /// Search order: cli_paths, add_paths, STC_PLUGIN_PATH (entries separated by ':'), the plugins
  /// beside the program. An entry is a folder (its *.so files in order of name) or one .so file.
  explicit LibraryIndex(std::vector<std::string> cli_paths);
  void add_paths(const std::vector<std::string>& paths);

  /// In search order, each file once. Reads the notes at the first call.
  const std::vector<IndexedLibrary>& libraries();
  /// Plugins of usable libraries in search order, shadowed ones included.
  const std::vector<IndexedPlugin>& plugins();
  std::vector<SearchPlace> places() const;
  /// What the user named and yields nothing: --plugin-path and plugins.path that do not exist, or are
  /// a file that is no library of plugins. Reads the notes at the first call.
  std::vector<SearchFault> faults();

  /// The first usable one; nullptr when there is none.
  const IndexedPlugin* find(int kind, std::string_view name);
  /// A library that would hold the plugin, by its note or by its file name, were it not refused.
  const IndexedLibrary* find_refused(int kind, std::string_view name);
  std::vector<std::string> names(int kind);

 private:
  void scan();
  void scan_file(const std::string& path, bool named_by_user);

  std::vector<std::string> cli_paths_;
  std::vector<std::string> config_paths_;
  bool scanned_ = false;
  std::vector<IndexedLibrary> libraries_;
  std::vector<IndexedPlugin> plugins_;
};

/// Folder of the running program, without the last '/'; empty when unknown.
std::string program_folder();

}  // namespace stc::host
