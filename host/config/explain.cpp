#include "host/config/explain.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "host/config/check.hpp"
#include "host/config/keys.hpp"
#include "host/config/nearest.hpp"
#include "host/config/raw_config.hpp"

namespace stc::host {
namespace {

std::string section_of(const std::string& path) {
  size_t dot = path.find('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

bool is_selected(const std::string& path, const std::string& selection) {
  return selection.empty() || path == selection || path.starts_with(selection + ".") ||
         path.starts_with(selection + "[");
}

std::vector<const KeyInfo*> select(const Config& config, const std::string& selection) {
  std::vector<const KeyInfo*> keys;
  for (const KeyInfo& key : config.keys()) {
    if (is_selected(key.path, selection)) keys.push_back(&key);
  }
  if (!keys.empty()) return keys;
  std::vector<std::string> paths;
  for (const KeyInfo& key : config.keys()) paths.push_back(key.path);
  for (const std::string& name : section_names()) paths.push_back(name);
  std::string section = section_of(selection);
  std::string name = section.empty() ? selection : selection.substr(section.size() + 1);
  if (std::optional<std::string> close = nearest(selection, paths)) {
    throw ConfigError(selection + ": unknown key", "nearest key is " + *close);
  }
  fail_unknown(section, name, section.empty() ? root_words() : paths, {});
}

std::string default_text(const Param& param) {
  if (param.default_text) return param.default_text->empty() ? "\"\"" : *param.default_text;
  return param.flags & STC_PARAM_REQUIRED ? "none, it must be given" : "null";
}

/// What may be written: "float > 0", "cosine or constant", "int in [1, 8]".
std::string accepted(const Param& param) {
  if (param.type == STC_PARAM_ENUM) return allowed(param);
  Param given = param;
  given.flags &= ~static_cast<unsigned>(STC_PARAM_NULLABLE);
  std::string text = type_name(given);
  std::string range = range_text(param);
  if (!range.empty()) text += " " + range;
  return param.flags & STC_PARAM_NULLABLE ? text + ", or null" : text;
}

std::string shown_value(const KeyInfo& key, const Config& config) {
  bool secret = (key.param.flags & STC_PARAM_SECRET) != 0;
  if (secret && !config.at(key.path).is_null()) return "<redacted>";
  std::string yaml = to_yaml(Value{{"v", Value::array({config.at(key.path)})}});
  return yaml.substr(4, yaml.size() - 6);
}

std::string as_text(const Config& config, const std::vector<const KeyInfo*>& keys) {
  std::string out;
  for (const KeyInfo* key : keys) {
    out += key->path + ": " + shown_value(*key, config) + "\n";
    out += "    " + key->param.doc + "\n";
    out += "    " + accepted(key->param) + "; default " + default_text(key->param) + "\n";
    out += "    origin: " + origin_text(key->origin);
    if (key->owner != "stc") out += "; key of " + key->owner;
    out += "\n";
  }
  return out;
}

const char* source_word(Origin::Source source) {
  switch (source) {
    case Origin::Source::kFile: return "file";
    case Origin::Source::kAlias: return "alias";
    case Origin::Source::kFlag: return "flag";
    case Origin::Source::kDerived: return "derived";
    case Origin::Source::kDefault: break;
  }
  return "default";
}

Value as_object(const Config& config, const KeyInfo& key) {
  Value out = Value::object();
  bool secret = (key.param.flags & STC_PARAM_SECRET) != 0;
  out["key"] = key.path;
  out["value"] = secret && !config.at(key.path).is_null() ? Value("<redacted>") : config.at(key.path);
  out["default"] = key.param.flags & STC_PARAM_REQUIRED ? Value() : default_value(key.param, key.path);
  out["required"] = (key.param.flags & STC_PARAM_REQUIRED) != 0;
  out["type"] = type_name(key.param);
  out["range"] = range_text(key.param);
  out["choices"] = key.param.enum_values;
  out["help"] = key.param.doc;
  out["source"] = source_word(key.origin.source);
  out["origin"] = origin_text(key.origin);
  out["owner"] = key.owner;
  return out;
}

std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.replace(at, 1, "\\|");
  }
  return text;
}

std::string as_markdown(const std::vector<const KeyInfo*>& keys) {
  std::string out;
  std::string open = "?";  // the table being written: section and owner
  for (const KeyInfo* key : keys) {
    std::string section = section_of(key->path);
    std::string table = section + "/" + key->owner;
    if (std::exchange(open, table) != table) {
      std::string title = section.empty() ? "Root" : "`" + section + "`";
      if (key->owner != "stc") title += ", keys of " + key->owner;
      out += (out.empty() ? "## " : "\n## ") + title + "\n\n";
      out += "| key | value | default | meaning |\n|---|---|---|---|\n";
    }
    out += "| `" + key->path + "` | " + cell(accepted(key->param)) + " | " + cell(default_text(key->param)) + " | " +
           cell(key->param.doc) + " |\n";
  }
  return out;
}

}  // namespace

std::string origin_text(const Origin& origin) {
  switch (origin.source) {
    case Origin::Source::kFile: return origin.at.str();
    case Origin::Source::kAlias: return "alias " + origin.via + ", " + origin.at.str();
    case Origin::Source::kFlag: return origin.via;
    case Origin::Source::kDerived: return "from " + origin.via;
    case Origin::Source::kDefault: break;
  }
  return "default";
}

std::string explain_keys(const Config& config, const std::string& selection, const std::string& format) {
  std::vector<const KeyInfo*> keys = select(config, without_alias(selection));
  if (format == "markdown") return as_markdown(keys);
  if (format == "text") return as_text(config, keys);
  Value list = Value::array();
  for (const KeyInfo* key : keys) list.push_back(as_object(config, *key));
  return to_json(list) + "\n";
}

}  // namespace stc::host
