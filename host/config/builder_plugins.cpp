#include <algorithm>

#include "host/config/builder.hpp"
#include "host/config/check.hpp"
#include "host/config/nearest.hpp"

namespace stc::host {

Value ConfigBuilder::peek(const std::string& section, const std::string& key) const {
  const HostKey& host = *find_host_key(section, key);
  if (const Given* given = raw_.find(section, key)) {
    if (std::optional<Value> value = check_value(host, *given->value)) return *value;
  }
  return default_value(host.param, host.path());
}

std::string ConfigBuilder::peek_word(const std::string& section, const std::string& key) const {
  Value value = peek(section, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Location ConfigBuilder::place(const std::string& section, const std::string& key) const {
  const Given* given = raw_.find(section, key);
  return given != nullptr ? given->origin.at : Location{};
}

void ConfigBuilder::add_search_paths() {
  std::vector<std::string> paths;
  for (const Value& path : peek("plugins", "path")) paths.push_back(path.get<std::string>());
  catalog_.add_search_paths(paths);
}

void ConfigBuilder::choose_plugins() {
  choose_model();
  choose_data();
  choose_optimizer();
  choose_precision();
  choose_distributed();
}

const PluginDeclaration* ConfigBuilder::look_up(int kind, const std::string& name, const std::string& path) {
  if (const PluginDeclaration* found = catalog_.find(kind, name)) return found;
  std::vector<std::string> names = catalog_.names(kind);
  std::string message = path + ": " + kind_word(kind) + " plugin " + name +
                        " not found, installed: " + (names.empty() ? "none" : join(names));
  std::vector<std::string> words = names;
  if (kind == STC_KIND_PRECISION) words.insert(words.end(), {"auto", "bf16", "fp16", "fp32"});
  if (kind == STC_KIND_COORDINATOR) words.insert(words.end(), {"dumb_diloco", "single"});
  std::optional<std::string> close = nearest(name, words);
  std::string hint =
      close ? "nearest is " + *close : "give its folder by --plugin-path, plugins.path or STC_PLUGIN_PATH";
  size_t dot = path.find('.');
  Location at = place(path.substr(0, dot), dot == std::string::npos ? path : path.substr(dot + 1));
  if (strict()) throw ConfigError(message, hint, at);
  warn(message, hint, at);
  return nullptr;
}

void ConfigBuilder::choose(const std::string& section, int kind, const std::string& name, const std::string& path) {
  chosen_[section].push_back({kind, name, look_up(kind, name, path)});
}

void ConfigBuilder::choose_if_found(const std::string& section, int kind, const std::string& name) {
  if (const PluginDeclaration* found = catalog_.find(kind, name)) {
    chosen_[section].push_back({kind, name, found});
  }
}

void ConfigBuilder::choose_model() {
  std::string name = peek_word("model", "name");
  if (name == "gpt") name = "reference_transformer";
  choose("model", STC_KIND_MODEL, name, "model.name");
}

void ConfigBuilder::choose_optimizer() {
  std::string name = peek_word("optimizer", "name");
  if (name == "cautious") {
    throw ConfigError("optimizer.name: got cautious, which wraps another optimizer",
                      "name that optimizer and set optimizer.cautious: true", place("optimizer", "name"));
  }
  choose("optimizer", STC_KIND_OPTIMIZER, name, "optimizer.name");
  if (peek("optimizer", "cautious") == Value(true)) {
    choose("optimizer", STC_KIND_OPTIMIZER, "cautious", "optimizer.cautious");
  }
}

void ConfigBuilder::choose_data() {
  std::string name = peek_word("data", "name");
  if (!name.empty()) {
    choose("data", STC_KIND_DATASET, name, "data.name");
  } else if (!peek_word("data", "text_path").empty()) {
    choose("data", STC_KIND_DATASET, "text", "data.text_path");
    if (!peek_word("data", "dataset").empty()) {
      warn("data.dataset: ignored, data.text_path comes first", "keep one of the two", place("data", "dataset"));
    }
  } else if (!peek_word("data", "dataset").empty()) {
    // Its absence is reported by the key itself (later.cpp).
    chosen_["data"].push_back({STC_KIND_DATASET, "tokens", catalog_.find(STC_KIND_DATASET, "tokens")});
  } else if (peek("data", "synthetic") == Value(true)) {
    choose("data", STC_KIND_DATASET, "synthetic", "data.synthetic");
  } else {
    throw ConfigError("data.synthetic: got false, and there is no other source of data",
                      "set data.text_path, data.name, or data.synthetic: true", place("data", "synthetic"));
  }
  choose("data", STC_KIND_TOKENIZER, peek_word("data", "tokenizer"), "data.tokenizer");
}

void ConfigBuilder::choose_precision() {
  std::string mode = peek_word("precision", "mode");
  if (mode == "auto") mode = peek_word("precision", "dtype");
  if (mode.empty()) return;  // the device decides, among plugins with their defaults
  bool decided_by_device = mode == "bf16" || mode == "fp16" || mode == "fp32";
  if (decided_by_device) {
    choose_if_found("precision", STC_KIND_PRECISION, mode);
  } else {
    choose("precision", STC_KIND_PRECISION, mode, "precision.mode");
  }
}

void ConfigBuilder::choose_distributed() {
  std::string mode = peek_word("distributed", "mode");
  std::string backend = peek_word("distributed", "backend");
  bool enabled = peek("distributed", "enabled") == Value(true);
  if (mode != "dumb_diloco" && mode != "single") {
    choose("distributed", STC_KIND_COORDINATOR, mode, "distributed.mode");
  } else if (enabled && mode == "dumb_diloco") {
    choose_if_found("distributed", STC_KIND_COORDINATOR, mode);
  }
  if (!backend.empty() && backend != "hub" && backend != "filesystem") {
    choose("distributed", STC_KIND_SYNC, backend, "distributed.backend");
  } else if (enabled && !backend.empty()) {
    choose_if_found("distributed", STC_KIND_SYNC, backend);
  }
}

}  // namespace stc::host
