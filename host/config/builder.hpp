/// \file
/// From what was written to a Config: declarations chosen, values checked, defaults and rules
/// applied.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/keys.hpp"
#include "host/config/raw_config.hpp"

namespace stc::host {

/// A plugin that the file names. declaration is null when it was not found (Depth::kPrint only).
struct ChosenPlugin {
  int kind = 0;
  std::string name;
  const PluginDeclaration* declaration = nullptr;
};

/// "dataset", ..., "sink".
const char* kind_word(int kind);

/// Whether somebody wrote the value.
inline bool is_given_by_user(const Origin& origin) {
  return origin.source != Origin::Source::kDefault && origin.source != Origin::Source::kDerived;
}

class ConfigBuilder {
 public:
  ConfigBuilder(RawConfig raw, PluginCatalog& catalog, Depth depth, std::vector<Warning> warnings);
  /// \throws ConfigError for the first fault, in the order of the sections.
  Config build();

 private:
  /// One key of the result.
  struct Slot {
    std::string section;
    Param param;                    // the declaration in force
    const HostKey* host = nullptr;  // null: only a plugin declares it
    std::string owner;
    std::string needed_by;  // the plugin that cannot do without it
    Value value;
    Value fallback;  // the default in force
    Origin origin;
    bool given() const { return is_given_by_user(origin); }
    std::string path() const { return section.empty() ? param.name : section + "." + param.name; }
  };

  // builder_plugins.cpp: which plugins the file names
  void add_search_paths();
  void choose_plugins();
  void choose_model();
  void choose_optimizer();
  void choose_data();
  void choose_precision();
  void choose_distributed();
  const PluginDeclaration* look_up(int kind, const std::string& name, const std::string& path);
  void choose(const std::string& section, int kind, const std::string& name, const std::string& path);
  /// As choose, but its absence is somebody else's message.
  void choose_if_found(const std::string& section, int kind, const std::string& name);
  /// The checked value of a host key before its section is built: the user's, else the default.
  Value peek(const std::string& section, const std::string& key) const;
  std::string peek_word(const std::string& section, const std::string& key) const;
  Location place(const std::string& section, const std::string& key) const;

  // builder_sections.cpp: declarations, values, defaults
  void build_section(const std::string& section);
  void add_slots(const std::string& section);
  Slot make_host_slot(const HostKey& key) const;
  void read_given(const std::string& section);
  void read_value(Slot& slot, const Given& given);
  void check_by_plugins(const Slot& slot, const Given& given) const;
  void check_required(const std::string& section);
  void warn_unread(const Slot& slot);
  bool all_found(const std::string& section) const;
  const Param* declared(const std::string& section, const std::string& key, std::string* owner) const;

  // builder_sinks.cpp
  void build_sinks();
  Value build_sink(const Node& node, size_t index);
  void build_implied_sink();
  Value sink_section(const PluginDeclaration& sink, const Node* keys, const std::string& path, const Location& at);

  // derive.cpp: values that follow from others
  void derive();
  void derive_run();
  void derive_model();
  void derive_data();
  void derive_distributed();

  // cross_checks.cpp: rules between keys
  void cross_check();
  void check_run();
  void check_batches() const;
  void check_model() const;
  void check_sequence();
  void check_optimizer() const;
  void check_schedule();
  void check_evaluation();
  void check_distributed() const;
  void check_node_id() const;

  // later.cpp: what this version does not have
  void check_later();

  Slot& slot(std::string_view path);
  const Slot& slot(std::string_view path) const;
  const Value& value(std::string_view path) const { return slot(path).value; }
  bool is_given(std::string_view path) const { return slot(path).given(); }
  void set_derived(std::string_view path, Value value, std::string rule);
  void warn(std::string message, std::string hint = {}, Location at = {});
  bool strict() const { return depth_ == Depth::kRun; }
  Config finish();

  RawConfig raw_;
  PluginCatalog& catalog_;
  Depth depth_;
  std::map<std::string, std::vector<ChosenPlugin>> chosen_;
  std::vector<Slot> slots_;
  std::map<std::string, size_t, std::less<>> index_;
  std::vector<KeyInfo> sink_keys_;
  Config config_;
};

}  // namespace stc::host
