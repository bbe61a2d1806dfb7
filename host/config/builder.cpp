#include "host/config/builder.hpp"

#include <utility>

namespace stc::host {

const char* kind_word(int kind) {
  static const char* const kWords[] = {"plugin",    "dataset", "tokenizer",   "model",      "optimizer",
                                       "precision", "sync",    "coordinator", "collective", "sink"};
  bool known = kind > 0 && kind <= STC_KIND_SINK;
  return known ? kWords[kind] : kWords[0];
}

ConfigBuilder::ConfigBuilder(RawConfig raw, PluginCatalog& catalog, Depth depth, std::vector<Warning> warnings)
    : raw_(std::move(raw)), catalog_(catalog), depth_(depth) {
  config_.warnings_ = std::move(warnings);
}

Config ConfigBuilder::build() {
  add_search_paths();
  choose_plugins();
  for (const std::string& section : section_names()) build_section(section);
  build_sinks();
  check_later();
  derive();
  cross_check();
  return finish();
}

ConfigBuilder::Slot& ConfigBuilder::slot(std::string_view path) { return slots_.at(index_.find(path)->second); }

const ConfigBuilder::Slot& ConfigBuilder::slot(std::string_view path) const {
  return slots_.at(index_.find(path)->second);
}

void ConfigBuilder::set_derived(std::string_view path, Value value, std::string rule) {
  Slot& target = slot(path);
  target.value = std::move(value);
  target.origin = {Origin::Source::kDerived, target.origin.at, std::move(rule)};
}

void ConfigBuilder::warn(std::string message, std::string hint, Location at) {
  config_.warnings_.push_back({std::move(message), std::move(hint), std::move(at)});
}

Config ConfigBuilder::finish() {
  config_.root_ = Value::object();
  for (Slot& slot : slots_) {
    Value& parent = slot.section.empty() ? config_.root_ : config_.root_[slot.section];
    parent[slot.param.name] = slot.value;
    config_.keys_.push_back({slot.path(), slot.param, slot.origin, slot.owner});
    if (slot.path() == "logging.sinks") {
      config_.keys_.insert(config_.keys_.end(), sink_keys_.begin(), sink_keys_.end());
    }
  }
  return std::move(config_);
}

}  // namespace stc::host
