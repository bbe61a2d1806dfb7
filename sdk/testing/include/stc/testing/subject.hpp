/// \file
/// The plugin under test, and an instance of it.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stc/abi.h"
#include "stc/core/params.hpp"
#include "stc/testing/fake_host.hpp"
#include "stc/testing/report.hpp"
#include "stc/testing/section.hpp"
#include "stc/testing/tables.hpp"

/// The entry of the plugin that a test is linked with.
extern "C" stc_error* stc_plugin_entry_v1(const stc_host* host, const stc_plugin_set** out);

namespace stc::testing {

/// One plugin of a library, linked or loaded. Never unloaded.
class Subject {
 public:
  /// \param entry stc_plugin_entry_v1 of a linked plugin (target stc_<kind>_<name>_core).
  /// \throws std::runtime_error when the entry fails or has no such plugin.
  Subject(stc_plugin_entry_fn entry, int32_t kind, const std::string& name) {
    static FakeHost& host = *new FakeHost();
    const stc_plugin_set* set = nullptr;
    if (const SlotError error = host.take(entry(&host.table(), &set))) {
      throw std::runtime_error("entry: " + error.message);
    }
    for (uint32_t i = 0; i < set->num_plugins; ++i) {
      if (set->plugins[i]->kind == kind && set->plugins[i]->name == name) {
        plugin_ = set->plugins[i];
      }
    }
    if (plugin_ == nullptr) {
      throw std::runtime_error("entry: the library has no " + std::string(table_rule(kind)->kind) + " " + name);
    }
  }
  /// Loads a shared library.
  Subject(const std::string& path, int32_t kind, const std::string& name) : Subject(entry_of(path), kind, name) {}

  const stc_plugin& plugin() const { return *plugin_; }
  template <class Api>
  const Api& api() const {
    return *static_cast<const Api*>(plugin_->table);
  }
  std::vector<stc_param> params() const {
    std::vector<stc_param> params;
    for (uint32_t i = 0; i < plugin_->num_params; ++i) {
      const char* at = reinterpret_cast<const char*>(plugin_->params) + std::size_t{i} * plugin_->param_stride;
      params.push_back(stc::detail::imported(reinterpret_cast<const stc_param*>(at)));
    }
    return params;
  }
  /// The declared defaults with `given` laid over them, as a host completes a section.
  Section section(const Section& given = {}) const {
    Section full;
    for (const stc_param& param : params()) {
      if (const Node* node = given.find(param.name)) {
        full.set(param.name, *node);
      } else if (param.default_text != nullptr) {
        full.set(param.name, parse_default(param.type, param.default_text));
      } else {
        full.set(param.name, nullptr);
      }
    }
    return full;
  }

  static stc_plugin_entry_fn entry_of(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      throw std::runtime_error(dlerror());
    }
    void* entry = dlsym(library, STC_PLUGIN_ENTRY_NAME);
    if (entry == nullptr) {
      throw std::runtime_error(path + ": no " STC_PLUGIN_ENTRY_NAME);
    }
    return reinterpret_cast<stc_plugin_entry_fn>(entry);
  }

 private:
  const stc_plugin* plugin_ = nullptr;
};

/// A created instance with its host and section; destroyed at the end of its scope.
template <class Api, class Opaque>
class Instance {
 public:
  Instance(const Subject& subject, FakeHost& host, const Section& given)
      : api_(subject.api<Api>()), host_(host), section_(subject.section(given)) {
    error_ = host_.take(api_.create(&host_.table(), section_.raw(), &self_));
  }
  ~Instance() {
    if (self_ != nullptr) {
      api_.destroy(self_);
    }
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const SlotError& error() const { return error_; }
  Opaque* get() const { return self_; }
  const Api& api() const { return api_; }
  FakeHost& host() const { return host_; }
  /// Calls a slot that returns an stc_error*, with self in front.
  template <class Slot, class... Arguments>
  SlotError call(Slot slot, Arguments... arguments) const {
    return host_.take(slot(self_, arguments...));
  }

 private:
  const Api& api_;
  FakeHost& host_;
  Section section_;
  Opaque* self_ = nullptr;
  SlotError error_;
};

/// The checks of every kind: description, declarations, table.
inline Report check_declaration(const Subject& subject) {
  Report report;
  const stc_plugin& plugin = subject.plugin();
  report.context("declaration");
  report.expect(plugin.struct_size >= STC_SIZE_TO_END(stc_plugin, get_extension), "stc_plugin is too small");
  report.expect(plugin.doc != nullptr && plugin.doc[0] != '\0', "has no line of doc");
  report.expect(plugin.version != nullptr && plugin.version[0] != '\0', "has no version");
  const std::string problem = table_problem(plugin.kind, plugin.table);
  report.expect(problem.empty(), problem);
  std::vector<std::string> seen;
  for (const stc_param& param : subject.params()) {
    const std::string name = param.name == nullptr ? "" : param.name;
    const bool words = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    report.expect(!name.empty() && words, "parameter \"" + name + "\" is not in snake_case");
    report.expect(std::find(seen.begin(), seen.end(), name) == seen.end(), name + " is declared twice");
    seen.push_back(name);
    report.expect(param.doc != nullptr && param.doc[0] != '\0', name + " has no line of doc");
    const bool required = (param.flags & STC_PARAM_REQUIRED) != 0;
    const bool nullable = (param.flags & STC_PARAM_NULLABLE) != 0;
    report.expect(required == (param.default_text == nullptr) || nullable, name + " has neither a default nor null");
    if (param.default_text == nullptr) {
      continue;
    }
    try {
      const Node node = parse_default(param.type, param.default_text);
      double number = 0;
      if (const auto* integer = std::get_if<int64_t>(&node.data)) {
        number = static_cast<double>(*integer);
      } else if (const auto* real = std::get_if<double>(&node.data)) {
        number = *real;
      } else {
        continue;
      }
      stc::detail::ParamSpec spec;
      spec.flags = param.flags;
      spec.min = param.min;
      spec.max = param.max;
      report.expect(spec.allows(number), name + ": its default " + param.default_text + " is outside of its limits");
    } catch (const std::exception& error) {
      report.fail(name + ": " + error.what());
    }
  }
  return report;
}

}  // namespace stc::testing
