#include "host/plugins/registry.hpp"

#include <optional>
#include <utility>

#include "host/config/nearest.hpp"
#include "host/errors/error.hpp"
#include "host/plugins/library.hpp"
#include "host/plugins/search.hpp"

namespace stc::host {
namespace {

/// The one plugin of a kind in a library that was given by its path.
const LoadedPlugin& only_plugin(const LoadedLibrary& library, int kind) {
  const LoadedPlugin* found = nullptr;
  std::vector<std::string> names;
  for (const auto& plugin : library.plugins) {
    if (plugin->declaration.kind != kind) continue;
    found = plugin.get();
    names.push_back(plugin->declaration.name);
  }
  if (names.size() == 1) return *found;
  const std::string word = kind_name(kind);
  if (names.empty()) {
    std::vector<std::string> others;
    for (const auto& plugin : library.plugins) {
      others.push_back(std::string(kind_name(plugin->declaration.kind)) + " " + plugin->declaration.name);
    }
    throw PluginError("plugin " + library.path + ": holds no " + word + ", it holds " + join(others));
  }
  throw PluginError("plugin " + library.path + ": holds several plugins of kind " + word + ": " + join(names),
                    "name one of them and give the file by --plugin-path");
}

}  // namespace

struct Registry::Impl {
  explicit Impl(std::vector<std::string> cli_paths) : index(std::move(cli_paths)) {}

  /// nullptr: not found. \throws PluginError when it is there but refused.
  const LoadedPlugin* find(int kind, std::string_view name);

  std::mutex mutex;  // guards index
  LibraryIndex index;
};

const LoadedPlugin* Registry::Impl::find(int kind, std::string_view name) {
  if (is_library_path(name)) return &only_plugin(load_library_once(std::string(name)), kind);
  std::string path;
  {
    const std::lock_guard lock(mutex);
    if (const IndexedPlugin* plugin = index.find(kind, name)) {
      path = plugin->library->path;
    } else if (const IndexedLibrary* refused = index.find_refused(kind, name)) {
      throw PluginError(refused->refusal, refused->hint);
    } else {
      return nullptr;
    }
  }
  for (const auto& plugin : load_library_once(path).plugins) {
    if (plugin->declaration.kind == kind && plugin->declaration.name == name) return plugin.get();
  }
  return nullptr;
}

Registry::Registry(std::vector<std::string> cli_paths) : impl_(std::make_unique<Impl>(std::move(cli_paths))) {}
Registry::~Registry() = default;

void Registry::add_search_paths(const std::vector<std::string>& paths) {
  const std::lock_guard lock(impl_->mutex);
  impl_->index.add_paths(paths);
}

const PluginDeclaration* Registry::find(int kind, std::string_view name) {
  const LoadedPlugin* plugin = impl_->find(kind, name);
  return plugin != nullptr ? &plugin->declaration : nullptr;
}

std::vector<std::string> Registry::names(int kind) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->index.names(kind);
}

const LoadedPlugin& Registry::load(int kind, std::string_view name) {
  if (const LoadedPlugin* plugin = impl_->find(kind, name)) return *plugin;
  const std::lock_guard lock(impl_->mutex);
  const std::vector<std::string> known = impl_->index.names(kind);
  std::vector<std::string> places;
  for (const SearchPlace& place : impl_->index.places()) {
    places.push_back(place.path + (place.exists ? "" : " (does not exist)"));
  }
  std::string message = std::string(kind_name(kind)) + " plugin " + std::string(name) + ": not found";
  message += known.empty() ? ", there is none of this kind" : ", known: " + join(known);
  const std::optional<std::string> close = nearest(name, known);
  std::string hint = close ? "nearest name is " + *close + "; " : "";
  hint += places.empty() ? "no place to search: give --plugin-path" : "searched: " + join(places);
  throw PluginError(message, hint);
}

std::vector<const LoadedPlugin*> Registry::load_library(const std::string& path) {
  std::vector<const LoadedPlugin*> plugins;
  for (const auto& plugin : load_library_once(path).plugins) plugins.push_back(plugin.get());
  return plugins;
}

std::vector<PluginNote> Registry::notes() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<PluginNote> notes;
  for (const IndexedLibrary& library : impl_->index.libraries()) {
    if (library.usable()) notes.push_back(*library.note);
  }
  return notes;
}

std::vector<RefusedLibrary> Registry::refused() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<RefusedLibrary> refused;
  for (const IndexedLibrary& library : impl_->index.libraries()) {
    if (!library.usable()) refused.push_back({library.path, library.refusal});
  }
  return refused;
}

std::vector<SearchFault> Registry::search_faults() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->index.faults();
}

Registry& process_registry(const std::vector<std::string>& cli_paths) {
  static Registry* registry = new Registry(cli_paths);
  return *registry;
}

}  // namespace stc::host
