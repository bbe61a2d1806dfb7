#include <algorithm>
#include <utility>

#include "host/config/builder.hpp"
#include "host/config/check.hpp"
#include "host/config/secrets.hpp"

namespace stc::host {
namespace {

/// Keys of section data whose default is another key of the host, whatever a plugin says.
bool follows_host(const std::string& path) {
  return path == "data.vocab_size" || path == "data.block_size" || path == "data.seed";
}

std::string owner_of(const ChosenPlugin& plugin) { return std::string(kind_word(plugin.kind)) + " " + plugin.name; }

}  // namespace

void ConfigBuilder::build_section(const std::string& section) {
  add_slots(section);
  read_given(section);
  check_required(section);
}

const Param* ConfigBuilder::declared(const std::string& section, const std::string& key, std::string* owner) const {
  auto plugins = chosen_.find(section);
  if (plugins == chosen_.end()) return nullptr;
  for (const ChosenPlugin& plugin : plugins->second) {
    if (plugin.declaration == nullptr) continue;
    for (const Param& param : plugin.declaration->params) {
      if (param.name != key) continue;
      if (owner != nullptr) *owner = owner_of(plugin);
      return &param;
    }
  }
  return nullptr;
}

ConfigBuilder::Slot ConfigBuilder::make_host_slot(const HostKey& key) const {
  Slot slot;
  slot.section = key.section;
  slot.param = key.param;
  slot.host = &key;
  slot.owner = "stc";
  std::string owner;
  const Param* param = declared(key.section, key.param.name, &owner);
  if (param != nullptr && !key.host_reads) {
    slot.param = *param;
    slot.owner = owner;
  } else if (param != nullptr && param->default_text && !follows_host(key.path())) {
    slot.param.default_text = param->default_text;
  }
  bool required = param != nullptr && (param->flags & STC_PARAM_REQUIRED) != 0;
  if (required && !follows_host(key.path())) slot.needed_by = owner;
  slot.fallback = default_value(slot.param, slot.path());
  slot.value = slot.fallback;
  return slot;
}

void ConfigBuilder::add_slots(const std::string& section) {
  auto add = [this](Slot slot) {
    std::string path = slot.path();
    if (index_.try_emplace(path, slots_.size()).second) slots_.push_back(std::move(slot));
  };
  for (const HostKey& key : host_keys()) {
    if (key.section == section) add(make_host_slot(key));
  }
  auto plugins = chosen_.find(section);
  if (plugins == chosen_.end()) return;
  for (const ChosenPlugin& plugin : plugins->second) {
    if (plugin.declaration == nullptr) continue;
    for (const Param& param : plugin.declaration->params) {
      Slot slot;
      slot.section = section;
      slot.param = param;
      slot.owner = owner_of(plugin);
      if (param.flags & STC_PARAM_REQUIRED) slot.needed_by = slot.owner;
      slot.fallback = default_value(param, slot.path());
      slot.value = slot.fallback;
      add(std::move(slot));
    }
  }
}

bool ConfigBuilder::all_found(const std::string& section) const {
  auto plugins = chosen_.find(section);
  if (plugins == chosen_.end()) return false;
  return std::all_of(plugins->second.begin(), plugins->second.end(),
                     [](const ChosenPlugin& plugin) { return plugin.declaration != nullptr; });
}

void ConfigBuilder::read_given(const std::string& section) {
  for (const Given& given : raw_.section(section).keys) {
    std::string path = section.empty() ? given.key : section + "." + given.key;
    auto known = index_.find(path);
    if (known != index_.end()) {
      read_value(slots_[known->second], given);
      continue;
    }
    const std::string shown = shown_key(section, given.key, !is_null(*given.value));
    if (shown != given.key) {
      throw ConfigError(section + "." + shown + ": unknown key", "put a space after the colon that ends a key",
                        given.key_at);
    }
    std::vector<std::string> names;
    for (const Slot& slot : slots_) {
      if (slot.section == section) names.push_back(slot.param.name);
    }
    std::string note;
    if (chosen_.count(section) > 0 && !all_found(section)) {
      note = "a plugin of this section was not found, so its own keys are not known";
    }
    fail_unknown(section, given.key, names, given.key_at, note);
  }
}

void ConfigBuilder::check_by_plugins(const Slot& slot, const Given& given) const {
  auto plugins = chosen_.find(slot.section);
  bool seed = slot.host != nullptr && slot.host->form == HostKey::Form::kSeed;  // wraps to 64 bits
  if (plugins == chosen_.end() || seed) return;
  for (const ChosenPlugin& plugin : plugins->second) {
    if (plugin.declaration == nullptr) continue;
    for (const Param& param : plugin.declaration->params) {
      if (param.name == slot.param.name) check_value(param, *given.value, slot.path());
    }
  }
}

void ConfigBuilder::read_value(Slot& slot, const Given& given) {
  bool secret = (slot.param.flags & STC_PARAM_SECRET) != 0;
  if (secret && given.origin.source == Origin::Source::kFlag) {
    throw ConfigError("--set " + slot.path() + ": a secret cannot be given on the command line",
                      "every user of the machine can read it there; use the environment or the file", given.origin.at);
  }
  bool by_host = slot.host != nullptr && slot.owner == "stc";
  std::optional<Value> value =
      by_host ? check_value(*slot.host, *given.value) : check_value(slot.param, *given.value, slot.path());
  if (value) {
    check_by_plugins(slot, given);
    slot.value = std::move(*value);
    slot.origin = given.origin;
  }
  if (!slot.param.deprecated.empty()) {
    warn(slot.path() + ": deprecated", slot.param.deprecated, given.origin.at);
  }
  warn_unread(slot);
}

/// A key of 2.0.0 that the chosen plugin does not read would be set for nothing.
void ConfigBuilder::warn_unread(const Slot& slot) {
  bool shared = slot.host != nullptr && slot.host->in_2_0_0 && !slot.host->host_reads;
  if (!shared || slot.owner != "stc" || !slot.given() || !all_found(slot.section)) return;
  if (slot.value.is_null() || slot.value == Value(false)) return;
  const ChosenPlugin& plugin = chosen_.at(slot.section).front();
  warn(slot.path() + ": has no effect, " + owner_of(plugin) + " does not read it", {}, slot.origin.at);
}

void ConfigBuilder::check_required(const std::string& section) {
  for (const Slot& slot : slots_) {
    bool missing = slot.section == section && !slot.needed_by.empty() && slot.value.is_null();
    if (!missing) continue;
    throw ConfigError(slot.path() + ": missing, " + slot.needed_by + " needs it: " + slot.param.doc,
                      "add " + slot.param.name + " to section " + section, raw_.section(section).at);
  }
}

}  // namespace stc::host
