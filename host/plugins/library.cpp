#include "host/plugins/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <utility>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include "host/plugins/gates.hpp"
#include "host/plugins/load_guard.hpp"
#include "host/plugins/tables.hpp"
#include "host/services/services.hpp"

namespace stc::host {
namespace {

using FileId = std::pair<uint64_t, uint64_t>;  // device, inode

using MappedLibrary = std::unique_ptr<boost::dll::shared_library>;

/// What became of a library that dlopen mapped: its file's id cannot be reused from then on.
struct Outcome {
  MappedLibrary mapped;
  std::unique_ptr<LoadedLibrary> library;
  std::optional<PluginError> refusal;
};

struct ProcessLibraries {
  std::mutex mutex;
  std::map<FileId, Outcome> outcomes;
};
ProcessLibraries& process_libraries() {
  static auto* libraries = new ProcessLibraries;
  return *libraries;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why, const std::string& hint) {
  throw PluginError("plugin " + path + ": " + why, hint);
}

/// dlerror's text without the path that our own message has in front already.
std::string loader_reason(const std::string& path) {
  const char* raw = dlerror();
  std::string reason = raw != nullptr ? raw : "the dynamic loader gives no reason";
  if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
  return reason;
}

/// The mapped library; the handle is kept for the process (RTLD_NODELETE would keep the mapping
/// anyway). An exception of an initialiser that got through dlopen left the loader's lock held,
/// which would stop every other thread that loads or unwinds: the process ends with the reason.
MappedLibrary open_library(const std::string& path) {
  using boost::dll::load_mode::type;
  constexpr auto kMode = static_cast<type>(static_cast<unsigned>(boost::dll::load_mode::rtld_now) |
                                           static_cast<unsigned>(boost::dll::load_mode::rtld_local) |
                                           static_cast<unsigned>(RTLD_NODELETE));
  auto library = std::make_unique<boost::dll::shared_library>();
  boost::dll::fs::error_code error;
  try {
    library->load(path, kMode, error);
  } catch (...) {
    LoadGuard::end_by_exception();
  }
  if (error || !library->is_loaded()) {
    refuse(path, "cannot be loaded: " + loader_reason(path),
           "a library that it needs is missing, or it was built against other versions of them "
           "(ldd shows which)");
  }
  return library;
}

/// The entry must be the library's own: dlsym also looks into the libraries that it needs.
stc_plugin_entry_fn find_entry(boost::dll::shared_library& library, const std::string& path) {
  const char* hint = "export it with stc_add_plugin and a STC_<KIND>_PLUGIN macro of stc-sdk";
  if (!library.has(STC_PLUGIN_ENTRY_NAME)) {
    refuse(path, std::string("does not export ") + STC_PLUGIN_ENTRY_NAME, hint);
  }
  const auto entry = &library.get<std::remove_pointer_t<stc_plugin_entry_fn>>(STC_PLUGIN_ENTRY_NAME);
  Dl_info place{};
  const link_map* map = nullptr;
  if (dladdr(reinterpret_cast<void*>(entry), &place) != 0 && dlinfo(library.native(), RTLD_DI_LINKMAP, &map) == 0 &&
      place.dli_fbase != nullptr) {
    Dl_info own{};
    const bool known = dladdr(map->l_ld, &own) != 0;
    if (known && own.dli_fbase != place.dli_fbase) {
      refuse(
          path,
          std::string("does not export ") + STC_PLUGIN_ENTRY_NAME + " (" + place.dli_fname + ", which it needs, does)",
          hint);
    }
  }
  return entry;
}

const stc_plugin_set* call_entry(stc_plugin_entry_fn entry, const std::string& path) {
  const stc_plugin_set* set = nullptr;
  stc_error* error = nullptr;
  try {
    error = entry(&process_host(), &set);
  } catch (...) {
    refuse(path, "its entry function threw: " + describe_current_exception(), "run `stc-host plugins check` on it");
  }
  if (error != nullptr) {
    const ErrorText text = take_error(error);
    refuse(path, "its entry function failed: " + (text.message.empty() ? error_code_name(text.code) : text.message),
           "the plugin itself gave this reason");
  }
  if (set == nullptr) {
    refuse(path, "its entry function returned neither plugins nor an error", "set *out in " STC_PLUGIN_ENTRY_NAME);
  }
  return set;
}

std::unique_ptr<LoadedLibrary> take_plugins(boost::dll::shared_library& mapped, const PluginNote& note) {
  const stc_plugin_set* set = call_entry(find_entry(mapped, note.path), note.path);
  auto library = std::make_unique<LoadedLibrary>();
  library->path = note.path;
  library->plugins = import_set(note, set);
  check_schemas(note, set);
  return library;
}

FileId file_id(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

}  // namespace

const LoadedLibrary& load_library_once(const std::string& path) {
  ProcessLibraries& libraries = process_libraries();
  const std::lock_guard lock(libraries.mutex);
  const FileId id = file_id(path);
  auto known = libraries.outcomes.find(id);
  if (known == libraries.outcomes.end()) {
    const PluginNote note = read_note(path);
    check_level(note, torch_runtime());
    check_needed(note);
    const LoadGuard guard(path);
    Outcome outcome;
    outcome.mapped = open_library(path);
    try {
      outcome.library = take_plugins(*outcome.mapped, note);
    } catch (const PluginError& refusal) {
      outcome.refusal = refusal;
    }
    known = libraries.outcomes.emplace(id, std::move(outcome)).first;
  }
  if (known->second.refusal) throw PluginError(*known->second.refusal);
  return *known->second.library;
}

}  // namespace stc::host
