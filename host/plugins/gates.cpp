#include "host/plugins/gates.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <mutex>
#include <string_view>

namespace stc::host {
namespace {

[[noreturn]] void refuse(const PluginNote& note, const std::string& why, const std::string& hint) {
  throw PluginError("plugin " + note.path + ": " + why, hint);
}

std::string abi_text(uint32_t major, uint32_t minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::string host_abi() { return abi_text(STC_ABI_MAJOR, STC_ABI_MINOR); }

bool is_torch_name(std::string_view library) {
  return library.find("torch") != std::string_view::npos || library.find("c10") != std::string_view::npos;
}

bool is_word(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

struct ToldRuntime {
  std::mutex mutex;
  std::string version;
};
ToldRuntime& told_runtime() {
  static auto* told = new ToldRuntime;
  return *told;
}

uint64_t pack_version(const std::string& version) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  std::sscanf(version.c_str(), "%u.%u.%u", &major, &minor, &patch);
  return (uint64_t{major} << 56U) | (uint64_t{minor} << 48U) | (uint64_t{patch} << 40U);
}

/// Asks the LibTorch that is loaded; 0 when there is none.
uint64_t loaded_torch() {
  void* library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  using VersionFunction = uint64_t (*)();
  const auto function = reinterpret_cast<VersionFunction>(dlsym(library, "aoti_torch_abi_version"));
  const uint64_t packed = function != nullptr ? function() : 0;
  dlclose(library);
  return packed;
}

}  // namespace

void check_abi(const PluginNote& note) {
  const bool frozen = STC_ABI_MAJOR > 0;
  const bool fits = note.abi_major == STC_ABI_MAJOR &&
                    (frozen ? note.abi_minor_required <= STC_ABI_MINOR : note.abi_minor_built == STC_ABI_MINOR);
  if (fits) return;
  const uint32_t minor = frozen && note.abi_major == STC_ABI_MAJOR ? note.abi_minor_required : note.abi_minor_built;
  const bool newer = note.abi_major > STC_ABI_MAJOR || (note.abi_major == STC_ABI_MAJOR && minor > STC_ABI_MINOR);
  refuse(note, "built for stc ABI " + abi_text(note.abi_major, minor) + ", host has " + host_abi(),
         std::string(newer ? "use a newer stc-host, or rebuild the plugin" : "rebuild it") +
             " against stc-sdk " STC_VERSION " (docs/guide/plugins.md)");
}

void check_records(const PluginNote& note) {
  const char* rebuild = "rebuild it with the macros of stc-sdk, which write the note";
  if (note.level < STC_LEVEL_PLAIN || note.level > STC_LEVEL_EXACT) {
    refuse(note, "level " + std::to_string(note.level) + " in its note, wanted 1 (plain), 2 (stable) or 3 (exact)",
           rebuild);
  }
  if (note.plugins.empty()) refuse(note, "its note names no plugin, wanted at least one", rebuild);
  for (auto it = note.plugins.begin(); it != note.plugins.end(); ++it) {
    if (kind_from_name(kind_name(it->kind)) == 0) {
      refuse(note, "plugin " + it->name + " has kind " + std::to_string(it->kind) + ", this host knows 1 to 9",
             "use a newer stc-host");
    }
    if (!is_word(it->name)) {
      refuse(note, "plugin name \"" + it->name + "\", wanted a lower-case letter, then letters, digits and _",
             "rename it");
    }
    const bool twice = std::any_of(note.plugins.begin(), it, [&](const NotePlugin& other) {
      return other.kind == it->kind && other.name == it->name;
    });
    if (twice) {
      refuse(note, std::string("names ") + kind_name(it->kind) + " " + it->name + " twice", "rename one of them");
    }
  }
}

void set_torch_runtime(const std::string& version) {
  ToldRuntime& told = told_runtime();
  const std::lock_guard lock(told.mutex);
  told.version = version;
}

TorchRuntime torch_runtime() {
  TorchRuntime runtime;
  {
    ToldRuntime& told = told_runtime();
    const std::lock_guard lock(told.mutex);
    runtime.version = told.version;
  }
  runtime.packed = pack_version(runtime.version);
#if defined(_GLIBCXX_USE_CXX11_ABI)
  runtime.cxx11_abi = _GLIBCXX_USE_CXX11_ABI != 0;
#endif
  constexpr uint64_t kNumbers = ~uint64_t{0} << 40U;
  const uint64_t loaded = loaded_torch();
  if (loaded != 0 && (loaded & kNumbers) != runtime.packed) {
    runtime.packed = loaded & kNumbers;
    runtime.version = std::to_string(loaded >> 56U) + "." + std::to_string((loaded >> 48U) & 255U) + "." +
                      std::to_string((loaded >> 40U) & 255U);
  }
  return runtime;
}

std::string torch_target_text(uint64_t packed) {
  return std::to_string(packed >> 56U) + "." + std::to_string((packed >> 48U) & 255U);
}

void check_level(const PluginNote& note, const TorchRuntime& runtime) {
  if (note.level == STC_LEVEL_PLAIN) {
    const auto torch = std::find_if(note.needed.begin(), note.needed.end(), is_torch_name);
    if (torch != note.needed.end()) {
      refuse(note, "says level plain, but needs " + *torch + "; plain plugins use nothing of LibTorch",
             "build it with LEVEL stable or LEVEL exact");
    }
    return;
  }
  if (runtime.version.empty()) {
    refuse(note, std::string("level ") + level_name(note.level) + " needs LibTorch, which this program does not hold",
           "load it through stc-host");
  }
  if (note.level == STC_LEVEL_STABLE) {
    if (runtime.packed < note.torch_target) {
      refuse(note, "needs LibTorch >= " + torch_target_text(note.torch_target) + ", host has " + runtime.version,
             "use a host with a newer LibTorch, or rebuild the plugin for " + torch_target_text(runtime.packed) +
                 " (STC_TORCH_TARGET)");
    }
    return;
  }
  if (note.torch_version != runtime.version) {
    refuse(note, "built for LibTorch " + note.torch_version + " (level exact), host has " + runtime.version,
           "rebuild it against LibTorch " + runtime.version);
  }
  if (note.cxx11_abi != runtime.cxx11_abi) {
    refuse(note,
           std::string("built with _GLIBCXX_USE_CXX11_ABI=") + (note.cxx11_abi ? "1" : "0") + ", host has " +
               (runtime.cxx11_abi ? "1" : "0"),
           std::string("rebuild it with -D_GLIBCXX_USE_CXX11_ABI=") + (runtime.cxx11_abi ? "1" : "0"));
  }
}

void check_needed(const PluginNote& note) {
  for (const std::string& name : note.needed) {
    if (!is_torch_name(name)) continue;
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) {
      dlclose(library);  // drops the reference of this query only
      continue;
    }
    refuse(note, "needs " + name + ", which is no part of this host's LibTorch",
           "a second LibTorch cannot live in one process: rebuild it against the host's LibTorch");
  }
}

std::string loads_in(const PluginNote& note) {
  switch (note.level) {
    case STC_LEVEL_PLAIN: {
      const bool frozen = note.abi_major > 0;
      return "any host of ABI " +
             (frozen ? std::to_string(note.abi_major) + ", minor >= " + std::to_string(note.abi_minor_required)
                     : abi_text(note.abi_major, note.abi_minor_built));
    }
    case STC_LEVEL_STABLE: return "LibTorch >= " + torch_target_text(note.torch_target);
    case STC_LEVEL_EXACT: return "only LibTorch " + note.torch_version;
    default: return "none";
  }
}

}  // namespace stc::host
