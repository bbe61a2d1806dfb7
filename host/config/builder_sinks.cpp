#include <algorithm>
#include <utility>

#include "host/config/builder.hpp"
#include "host/config/check.hpp"
#include "host/config/nearest.hpp"

namespace stc::host {
namespace {

constexpr const char* kSinks = "logging.sinks";

std::string sink_path(size_t index) { return std::string(kSinks) + "[" + std::to_string(index) + "]"; }

std::string name_of(const Node& node, const std::string& path) {
  const Node* name = &node;
  if (node.kind == Node::Kind::kMap) {
    const Node::Entry* entry = find_entry(node, "name");
    name = entry != nullptr ? entry->value.get() : nullptr;
  }
  bool word = name != nullptr && name->kind == Node::Kind::kScalar && !is_null(*name);
  if (!word) {
    // Keys of a sink may be secrets, and without its name nobody knows which.
    const std::string found = node.kind == Node::Kind::kMap    ? "a mapping without a name"
                              : node.kind == Node::Kind::kList ? "a list"
                                                               : show(node);
    throw ConfigError(path + ": got " + found + ", expected a sink's name or {name, ...keys}", {}, node.at);
  }
  return name->text;
}

}  // namespace

Value ConfigBuilder::sink_section(const PluginDeclaration& sink, const Node* keys, const std::string& path,
                                  const Location& at) {
  std::vector<std::string> names{"name"};
  for (const Param& param : sink.params) names.push_back(param.name);
  for (size_t i = 0; keys != nullptr && i < keys->entries.size(); ++i) {
    const Node::Entry& entry = keys->entries[i];
    if (std::find(names.begin(), names.end(), entry.key) == names.end()) {
      fail_unknown(path, entry.key, names, entry.at);
    }
  }
  Value section = Value::object();
  for (const Param& param : sink.params) {
    std::string key_path = path + "." + param.name;
    const Node::Entry* entry = keys != nullptr ? find_entry(*keys, param.name) : nullptr;
    std::optional<Value> value;
    if (entry != nullptr) value = check_value(param, *entry->value, key_path);
    if (!value && (param.flags & STC_PARAM_REQUIRED) != 0) {
      throw ConfigError(key_path + ": missing, sink " + sink.name + " needs it: " + param.doc, {}, at);
    }
    section[param.name] = as_declared(param, value ? *value : default_value(param, key_path));
  }
  return section;
}

Value ConfigBuilder::build_sink(const Node& node, size_t index) {
  std::string path = sink_path(index);
  std::string name = name_of(node, path);
  const Node* keys = node.kind == Node::Kind::kMap ? &node : nullptr;
  const PluginDeclaration* sink = catalog_.find(STC_KIND_SINK, name);
  Value printed = Value::object();
  printed["name"] = name;
  if (sink == nullptr) {
    look_up(STC_KIND_SINK, name, kSinks);  // throws, or warns and leaves the keys unchecked
    Value written = to_value(node);
    if (keys != nullptr) printed.update(written);
    return printed;
  }
  Value section = sink_section(*sink, keys, path, node.at);
  bool by_flag = slot(kSinks).origin.source == Origin::Source::kFlag;
  for (const Param& param : sink->params) {
    const Node::Entry* entry = keys != nullptr ? find_entry(*keys, param.name) : nullptr;
    if (by_flag && entry != nullptr && (param.flags & STC_PARAM_SECRET) != 0) {
      throw ConfigError("--set logging.sinks: a secret cannot be given on the command line",
                        "every user of the machine can read it there; use the environment or the file",
                        slot(kSinks).origin.at);
    }
    Origin origin;
    if (entry != nullptr && !is_null(*entry->value)) {
      origin = {slot(kSinks).origin.source, entry->value->at, slot(kSinks).origin.via};
    }
    sink_keys_.push_back({path + "." + param.name, param, origin, "sink " + name});
  }
  printed.update(section);
  config_.sinks_.push_back({name, section, path});
  return printed;
}

/// logging.json_file is the sink jsonl with that path, unless such a sink is listed too.
void ConfigBuilder::build_implied_sink() {
  const Slot& file = slot("logging.json_file");
  if (!file.value.is_string() || file.value.get_ref<const std::string&>().empty()) return;
  for (const SinkSection& sink : config_.sinks_) {
    if (sink.name == "jsonl" && sink.section.value("path", Value()) == file.value) return;
  }
  const PluginDeclaration* sink = look_up(STC_KIND_SINK, "jsonl", "logging.json_file");
  if (sink == nullptr) return;
  Node keys;
  keys.kind = Node::Kind::kMap;
  keys.at = file.origin.at;
  keys.entries.push_back({"path", keys.at, from_value(file.value, keys.at)});
  Value section = sink_section(*sink, &keys, "logging.json_file", keys.at);
  config_.sinks_.insert(config_.sinks_.begin(), {"jsonl", section, "logging.json_file"});
}

void ConfigBuilder::build_sinks() {
  const Given* given = raw_.find("logging", "sinks");
  if (given != nullptr && given->value->kind == Node::Kind::kList) {
    Value printed = Value::array();
    const std::vector<NodePtr>& items = given->value->items;
    for (size_t i = 0; i < items.size(); ++i) printed.push_back(build_sink(*items[i], i));
    slot(kSinks).value = std::move(printed);
  }
  build_implied_sink();
}

}  // namespace stc::host
