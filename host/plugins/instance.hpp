/// \file
/// What all adapters (C table -> C++ class) share: one created plugin, its host table, its errors.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "host/plugins/registry.hpp"
#include "host/services/services.hpp"

namespace stc::host {

/// A plugin about to be created: which one, with what section, under which services.
struct InstanceSpec {
  const LoadedPlugin* plugin = nullptr;
  Value section;             // declared keys, completed; read by the plugin through config_*
  std::string section_name;  // "optimizer": errors name optimizer.<key>
  RunContext* context = nullptr;
  const Config* config = nullptr;  // for file:line of keys in errors; may be null
};

/// Base of the adapters. Owns the host table handed to create; it lives until after destroy.
class Instance {
 public:
  explicit Instance(InstanceSpec spec);
  virtual ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::string& name() const { return spec_.plugin->declaration.name; }
  int kind() const { return spec_.plugin->declaration.kind; }
  const LoadedPlugin& plugin() const { return *spec_.plugin; }
  /// The section that create received.
  const Value& values() const { return spec_.section; }

 protected:
  /// Turns a plugin's error into PluginError ("plugin adamw (optimizer): step: <message>"),
  /// ConfigError for INVALID_CONFIG (with the key's place), Cancelled for CANCELLED. Null passes.
  void check(stc_error* error, const char* slot) const;
  /// Calls a slot and checks its answer. An exception that a plugin lets out becomes PluginError
  /// too:
  ///   call("step", [&] { return api<stc_optimizer_api>().step(raw_, &info, gradients, n); });
  /// A slot without errors (void, a number) returns its value through.
  template <class Function>
  auto call(const char* slot, Function&& function) const {
    using Result = std::invoke_result_t<Function>;
    if constexpr (std::is_same_v<Result, stc_error*>) {
      stc_error* error = nullptr;
      try {
        error = function();
      } catch (...) {
        throw_escaped(slot);
      }
      check(error, slot);
    } else {
      try {
        return function();
      } catch (...) {
        throw_escaped(slot);
      }
    }
  }
  const stc_host* host() const { return &services_->table(); }
  const stc_config* section() const { return services_->config_node(spec_.section); }
  template <class Api>
  const Api& api() const {
    return *static_cast<const Api*>(spec_.plugin->table);
  }
  Services& services() const { return *services_; }

 private:
  /// Inside a catch: throws PluginError with what came out of the slot.
  [[noreturn]] void throw_escaped(const char* slot) const;

  InstanceSpec spec_;
  std::unique_ptr<Services> services_;
};

}  // namespace stc::host
