/// \file
/// What a library exports: descriptions of its plugins, the note, and the entry function.
///
/// Author macros are per kind (STC_SINK_PLUGIN ...) and made of two general ones, used once per
/// plugin and once per library, outside of any function:
///   STC_DEFINE_PLUGIN(kind, table, Type, name, version, doc)
///   STC_PLUGIN_LIBRARY(level, Type1, Type2 ...)     level: plain, stable, exact
/// Types of several files: STC_DECLARE_PLUGIN(Type) where the library is put together.
///
/// Macros that a build may set: STC_PLUGIN_PACKAGE, STC_PLUGIN_VERSION, STC_PLUGIN_LICENCE,
/// STC_PLUGIN_CUDA (stc_add_plugin sets the first three), STC_TARGET_ABI.
#pragma once

#include <cstring>
#include <vector>

#include "stc/abi/model.h"
#include "stc/abi/plugin.h"
#include "stc/core/guard.hpp"
#include "stc/core/note.hpp"
#include "stc/core/params.hpp"
#include "stc/core/sized.hpp"

namespace stc {

/// Names a plugin's type in overload resolution.
template <class T>
struct PluginTag {};

namespace detail {

/// A static member `const void* extension(const char* id)` answers for the plugin as a whole.
template <class T>
concept HasExtensions = requires(const char* id) {
  { T::extension(id) } -> std::convertible_to<const void*>;
};

/// A model's static member `bool own_kernels(int32_t device_type, int32_t dtype)`.
template <class T>
concept HasOwnKernels = requires(int32_t code) {
  { T::own_kernels(code, code) } -> std::convertible_to<bool>;
};

template <class T>
const void* plugin_extension(const char* id) noexcept {
  if constexpr (HasOwnKernels<T>) {
    static constexpr stc_model_own_kernels kOwnKernels{STC_SIZE_TO_END(stc_model_own_kernels, computes), 0,
                                                       [](int32_t device_type, int32_t dtype) noexcept -> int32_t {
                                                         return T::own_kernels(device_type, dtype) ? 1 : 0;
                                                       }};
    if (std::strcmp(id, STC_MODEL_OWN_KERNELS) == 0) return &kOwnKernels;
  }
  if constexpr (HasExtensions<T>) {
    return T::extension(id);
  } else {
    return nullptr;
  }
}

template <class T>
stc_plugin describe_plugin(int32_t kind, const void* table, const char* name, const char* version, const char* doc) {
  const std::vector<stc_param>& params = declared_params<typename ParamsOf<T>::type>();
  stc_plugin plugin{};
  plugin.struct_size = STC_SIZE_TO_END(stc_plugin, get_extension);
  plugin.kind = kind;
  if constexpr (requires { T::kOwnThreads; }) {
    plugin.thread_flags = T::kOwnThreads ? STC_PLUGIN_OWN_THREADS : 0;
  }
  plugin.name = name;
  plugin.version = version;
  plugin.doc = doc;
  plugin.params = params.data();
  plugin.num_params = static_cast<uint32_t>(params.size());
  plugin.param_stride = sizeof(stc_param);
  plugin.table = table;
  if constexpr (HasExtensions<T> || HasOwnKernels<T>) plugin.get_extension = &plugin_extension<T>;
  return plugin;
}

/// Operator schemas that the library calls, for the host to compare (stable level). Filled before
/// the entry runs, by objects with static storage; the text must live as long as the library.
inline std::vector<const char*>& operator_schemas() {
  static auto& schemas = *new std::vector<const char*>();
  return schemas;
}

/// Body of the entry. \p plugins: stc_plugin_of of each type.
inline stc_error* plugin_entry(const stc_host* host, const stc_plugin_set** out,
                               std::vector<const stc_plugin* (*)()> plugins) noexcept {
  const stc_host table = imported(host);
  return guarded(table, [&] {
    struct Library {
      std::vector<const stc_plugin*> plugins;
      stc_plugin_set set{};
    };
    static const Library& library = *[&] {
      auto* made = new Library();
      for (auto describe : plugins) {
        made->plugins.push_back(describe());
      }
      made->set.struct_size = STC_SIZE_TO_END(stc_plugin_set, schemas);
      made->set.plugins = made->plugins.data();
      made->set.num_plugins = static_cast<uint32_t>(made->plugins.size());
      made->set.schemas = operator_schemas().data();
      made->set.num_schemas = static_cast<uint32_t>(operator_schemas().size());
      return made;
    }();
    *out = &library.set;
  });
}

}  // namespace detail
}  // namespace stc

#define STC_DECLARE_PLUGIN(Type) const stc_plugin* stc_plugin_of(::stc::PluginTag<Type>)

#define STC_DEFINE_PLUGIN(kind, table, Type, name, version, doc)                                            \
  STC_DECLARE_PLUGIN(Type);                                                                                 \
  STC_PLUGIN_NOTE(kind, name, version, doc)                                                                 \
  const stc_plugin* stc_plugin_of(::stc::PluginTag<Type>) {                                                 \
    static const stc_plugin plugin = ::stc::detail::describe_plugin<Type>(kind, table, name, version, doc); \
    return &plugin;                                                                                         \
  }

#define STC_PLUGIN_LIBRARY(level, ...)                                                                         \
  STC_LIBRARY_NOTE_##level() extern "C" __attribute__((visibility("default"))) stc_error* stc_plugin_entry_v1( \
      const stc_host* host, const stc_plugin_set** out) {                                                      \
    return ::stc::detail::plugin_entry(host, out, {STC_DETAIL_FOR_EACH(STC_DETAIL_DESCRIBE, __VA_ARGS__)});    \
  }

#define STC_DETAIL_DESCRIBE(Type) [] { return stc_plugin_of(::stc::PluginTag<Type>{}); },

// Applies a macro to each of at most 64 arguments.
#define STC_DETAIL_PARENS ()
#define STC_DETAIL_EXPAND(...) \
  STC_DETAIL_EXPAND3(STC_DETAIL_EXPAND3(STC_DETAIL_EXPAND3(STC_DETAIL_EXPAND3(__VA_ARGS__))))
#define STC_DETAIL_EXPAND3(...) \
  STC_DETAIL_EXPAND2(STC_DETAIL_EXPAND2(STC_DETAIL_EXPAND2(STC_DETAIL_EXPAND2(__VA_ARGS__))))
#define STC_DETAIL_EXPAND2(...) \
  STC_DETAIL_EXPAND1(STC_DETAIL_EXPAND1(STC_DETAIL_EXPAND1(STC_DETAIL_EXPAND1(__VA_ARGS__))))
#define STC_DETAIL_EXPAND1(...) __VA_ARGS__
#define STC_DETAIL_FOR_EACH(macro, ...) __VA_OPT__(STC_DETAIL_EXPAND(STC_DETAIL_EACH(macro, __VA_ARGS__)))
#define STC_DETAIL_EACH(macro, first, ...) \
  macro(first) __VA_OPT__(STC_DETAIL_AGAIN STC_DETAIL_PARENS(macro, __VA_ARGS__))
#define STC_DETAIL_AGAIN() STC_DETAIL_EACH
