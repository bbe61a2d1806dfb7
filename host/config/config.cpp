#include "host/config/config.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "host/config/builder.hpp"
#include "host/config/check.hpp"
#include "host/config/document.hpp"

namespace stc::host {
namespace {

/// The next step of a path such as "logging.sinks[0].path"; null when there is none.
const Value* step_into(const Value& value, std::string_view word) {
  std::string_view key = word.substr(0, word.find('['));
  if (!value.is_object() || !value.contains(key)) return nullptr;
  const Value* found = &value.at(std::string(key));
  word.remove_prefix(key.size());
  while (!word.empty()) {
    size_t close = word.find(']');
    if (word.front() != '[' || close == std::string_view::npos) return nullptr;
    size_t index = 0;
    auto [end, error] = std::from_chars(word.data() + 1, word.data() + close, index);
    if (error != std::errc() || end != word.data() + close) return nullptr;
    if (!found->is_array() || index >= found->size()) return nullptr;
    found = &(*found)[index];
    word.remove_prefix(close + 1);
  }
  return found;
}

const Value* resolve(const Value& root, std::string_view path) {
  const Value* value = &root;
  while (value != nullptr) {
    size_t dot = path.find('.');
    value = step_into(*value, path.substr(0, dot));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return value;
}

Config build(RawConfig raw, PluginCatalog& catalog, Depth depth, std::vector<Warning> warnings) {
  return ConfigBuilder(std::move(raw), catalog, depth, std::move(warnings)).build();
}

}  // namespace

const Value& Config::at(std::string_view dotted) const {
  const Value* value = resolve(root_, dotted);
  if (value == nullptr) throw std::out_of_range("no configuration key " + std::string(dotted));
  return *value;
}

const KeyInfo* Config::find_key(std::string_view dotted) const {
  for (const KeyInfo& key : keys_) {
    if (key.path == dotted) return &key;
  }
  return nullptr;
}

Location Config::where(std::string_view dotted) const {
  const KeyInfo* key = find_key(dotted);
  return key != nullptr ? key->origin.at : Location{};
}

Value Config::redacted() const {
  Value copy = root_;
  for (const KeyInfo& key : keys_) {
    if ((key.param.flags & STC_PARAM_SECRET) == 0) continue;
    // resolve() only reads; the node belongs to `copy`, which is ours to change.
    auto* value = const_cast<Value*>(resolve(copy, key.path));
    bool empty = value == nullptr || value->is_null() || *value == Value("");
    if (!empty) *value = "<redacted>";
  }
  return copy;
}

Value Config::plugin_section(const PluginDeclaration& plugin, std::string_view section) const {
  const std::string prefix = std::string(section) + ".";
  Value out = Value::object();
  if (plugin.kind == STC_KIND_OPTIMIZER && plugin.name == "cautious") {
    for (const auto& [name, value] : root_.at(std::string(section)).items()) {
      out[name] = as_declared(find_key(prefix + name)->param, value);
    }
  }
  for (const Param& param : plugin.params) {
    std::string path = prefix + param.name;
    if (path == "data.vocab_size") path = "model.vocab_size";
    const KeyInfo* key = find_key(path);
    bool own_default = key == nullptr || key->origin.source == Origin::Source::kDefault;
    if (key != nullptr && (!own_default || !param.default_text || path == "model.vocab_size")) {
      out[param.name] = as_declared(param, at(path));
    } else {
      out[param.name] = default_value(param, path);
    }
  }
  return out;
}

Config load_config(const LoadRequest& request, PluginCatalog& catalog) {
  std::vector<Warning> warnings;
  NodePtr root = request.path.empty() ? read_yaml("{}", "") : read_document(request.path);
  RawConfig raw = fold_document(*root, warnings);
  apply_overrides(raw, request);
  return build(std::move(raw), catalog, request.depth, std::move(warnings));
}

Config config_from_value(const Value& resolved, PluginCatalog& catalog) {
  std::vector<Warning> warnings;
  NodePtr root = from_value(resolved, {"stored configuration", 0, 0});
  if (root->kind != Node::Kind::kMap) {
    throw ConfigError("stored configuration: got " + show(*root) + ", expected a mapping");
  }
  RawConfig raw = fold_document(*root, warnings);
  return build(std::move(raw), catalog, Depth::kPrint, std::move(warnings));
}

}  // namespace stc::host
