#include "host/plugins/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "host/plugins/gates.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kByFlag = "--plugin-path";
constexpr const char* kByConfig = "plugins.path";

std::vector<std::string> split_path_list(const char* text) {
  std::vector<std::string> parts;
  std::string_view rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    if (const std::string_view part = rest.substr(0, end); !part.empty()) parts.emplace_back(part);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return parts;
}

std::string own_plugin_folder() {
  const std::string program = program_folder();
  if (program.empty()) return {};
  std::error_code ignored;
  for (const char* relative : {"../lib/stc/plugins", "../plugins"}) {
    const fs::path folder = (fs::path(program) / relative).lexically_normal();
    if (fs::is_directory(folder, ignored)) return folder.string();
  }
  return {};
}

std::vector<std::string> libraries_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string{} : program.parent_path().string();
}

LibraryIndex::LibraryIndex(std::vector<std::string> cli_paths) : cli_paths_(std::move(cli_paths)) {}

void LibraryIndex::add_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  config_paths_.insert(config_paths_.end(), paths.begin(), paths.end());
  scanned_ = false;
}

std::vector<SearchPlace> LibraryIndex::places() const {
  std::vector<SearchPlace> places;
  const auto add = [&](const std::string& path, const char* origin) {
    std::error_code ignored;
    if (!path.empty()) places.push_back({path, origin, fs::exists(path, ignored)});
  };
  for (const std::string& path : cli_paths_) add(path, kByFlag);
  for (const std::string& path : config_paths_) add(path, kByConfig);
  for (const std::string& path : split_path_list(std::getenv("STC_PLUGIN_PATH"))) add(path, "STC_PLUGIN_PATH");
  add(own_plugin_folder(), "installed");
  return places;
}

std::vector<SearchFault> LibraryIndex::faults() {
  scan();
  std::vector<SearchFault> faults;
  for (const SearchPlace& place : places()) {
    if (place.origin != kByFlag && place.origin != kByConfig) continue;
    if (!place.exists) faults.push_back({place.origin, place.path + " does not exist"});
    for (const IndexedLibrary& library : libraries_) {
      if (library.path == place.path && !library.usable()) {
        faults.push_back({place.origin, library.refusal});
      }
    }
  }
  return faults;
}

void LibraryIndex::scan_file(const std::string& path, bool named_by_user) {
  std::error_code error;
  const bool seen = std::any_of(libraries_.begin(), libraries_.end(), [&](const IndexedLibrary& library) {
    return fs::equivalent(library.path, path, error);
  });
  if (seen) return;
  IndexedLibrary library;
  library.path = path;
  try {
    library.note = parse_note(path);
    check_abi(*library.note);
    check_records(*library.note);
  } catch (const Error& refusal) {
    const bool foreign = dynamic_cast<const NoNoteError*>(&refusal) != nullptr;
    if (foreign && !named_by_user && !fs::path(path).filename().string().starts_with("stc_")) return;
    library.refusal = refusal.what();
    library.hint = refusal.hint();
  }
  libraries_.push_back(std::move(library));
}

void LibraryIndex::scan() {
  if (scanned_) return;
  scanned_ = true;
  libraries_.clear();
  plugins_.clear();
  for (const SearchPlace& place : places()) {
    std::error_code ignored;
    if (!place.exists) continue;
    if (!fs::is_directory(place.path, ignored)) {
      scan_file(place.path, true);
      continue;
    }
    for (const std::string& file : libraries_in(place.path)) scan_file(file, false);
  }
  for (const IndexedLibrary& library : libraries_) {
    if (!library.usable()) continue;
    for (const NotePlugin& record : library.note->plugins) {
      const auto first = std::find_if(plugins_.begin(), plugins_.end(), [&](const IndexedPlugin& plugin) {
        return plugin.record->kind == record.kind && plugin.record->name == record.name;
      });
      plugins_.push_back({&library, &record, first != plugins_.end() ? first->library : nullptr});
    }
  }
}

const std::vector<IndexedLibrary>& LibraryIndex::libraries() {
  scan();
  return libraries_;
}

const std::vector<IndexedPlugin>& LibraryIndex::plugins() {
  scan();
  return plugins_;
}

const IndexedPlugin* LibraryIndex::find(int kind, std::string_view name) {
  scan();
  for (const IndexedPlugin& plugin : plugins_) {
    if (plugin.record->kind == kind && plugin.record->name == name) return &plugin;
  }
  return nullptr;
}

const IndexedLibrary* LibraryIndex::find_refused(int kind, std::string_view name) {
  scan();
  const std::string file_name = "stc_" + std::string(kind_name(kind)) + "_" + std::string(name) + ".so";
  for (const IndexedLibrary& library : libraries_) {
    if (library.usable()) continue;
    if (fs::path(library.path).filename() == file_name) return &library;
    if (!library.note) continue;
    for (const NotePlugin& record : library.note->plugins) {
      if (record.kind == kind && record.name == name) return &library;
    }
  }
  return nullptr;
}

std::vector<std::string> LibraryIndex::names(int kind) {
  scan();
  std::vector<std::string> names;
  for (const IndexedPlugin& plugin : plugins_) {
    if (plugin.record->kind == kind && plugin.shadowed_by == nullptr) names.push_back(plugin.record->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace stc::host
