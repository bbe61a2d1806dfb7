#include "host/config/check.hpp"

#include <algorithm>
#include <cmath>

#include "host/config/document.hpp"
#include "host/config/nearest.hpp"
#include "host/config/scalar.hpp"

namespace stc::host {
namespace {

using Form = HostKey::Form;

bool is_plain(const Node& node) { return node.kind == Node::Kind::kScalar && !node.quoted; }

bool is_plain(const Node& node, PlainKind kind) { return is_plain(node) && classify_plain(node.text) == kind; }

/// A quoted number or boolean where an unquoted one belongs.
std::string quotes_hint(const Node& node) {
  if (node.kind != Node::Kind::kScalar || !node.quoted) return {};
  PlainKind kind = classify_plain(node.text);
  if (kind == PlainKind::kString || kind == PlainKind::kNull) return {};
  return node.tagged ? "remove the tag !!str" : "remove the quotes";
}

bool in_range(const Param& param, double value) {
  if (param.flags & STC_PARAM_HAS_MIN) {
    if (param.flags & STC_PARAM_MIN_EXCLUSIVE ? value <= param.min : value < param.min) return false;
  }
  if (param.flags & STC_PARAM_HAS_MAX) {
    if (param.flags & STC_PARAM_MAX_EXCLUSIVE ? value >= param.max : value > param.max) return false;
  }
  return true;
}

Value check_int(const Param& param, const Node& node, const std::string& path) {
  if (!is_plain(node, PlainKind::kInteger)) {
    std::string hint = quotes_hint(node);
    if (is_plain(node, PlainKind::kFloat)) hint = "write a whole number without a point or exponent";
    fail_value(param, node, path, allowed(param), hint);
  }
  std::optional<double> size = parse_double(node.text);
  if (size && !in_range(param, *size)) fail_value(param, node, path, range_text(param));
  std::optional<Value> value = parse_integer(node.text);
  bool fits = value && value->is_number_integer() && !value->is_number_unsigned();
  if (!fits) fail_value(param, node, path, "an integer of 64 bits");
  return *value;
}

Value check_seed(const Param& param, const Node& node, const std::string& path) {
  if (!is_plain(node, PlainKind::kInteger)) {
    fail_value(param, node, path, allowed(param), quotes_hint(node));
  }
  std::optional<Value> value = parse_integer(node.text);
  if (!value) fail_value(param, node, path, "an integer of 64 bits");
  return *value;
}

Value check_float(const Param& param, const Node& node, const std::string& path) {
  bool integer = is_plain(node, PlainKind::kInteger);
  if (!integer && !is_plain(node, PlainKind::kFloat)) {
    fail_value(param, node, path, allowed(param), quotes_hint(node));
  }
  std::optional<double> value = parse_double(node.text);
  if (!value) fail_value(param, node, path, "a number in the range of a double");
  if (!std::isfinite(*value)) {
    std::string range = range_text(param);
    fail_value(param, node, path, "a finite number" + (range.empty() ? "" : " " + range));
  }
  if (!in_range(param, *value)) fail_value(param, node, path, range_text(param));
  if (!integer) return *value;
  std::optional<Value> exact = parse_integer(node.text);
  return exact ? *exact : Value(*value);
}

Value check_bool(const Param& param, const Node& node, const std::string& path) {
  if (!is_plain(node, PlainKind::kBool)) {
    fail_value(param, node, path, allowed(param), quotes_hint(node));
  }
  return parse_bool(node.text);
}

Value check_string(const Param& param, const Node& node, const std::string& path) {
  if (node.kind != Node::Kind::kScalar) fail_value(param, node, path, allowed(param));
  if (is_plain(node, PlainKind::kBool)) {
    fail_value(param, node, path, allowed(param), "quote it: unquoted it is a boolean");
  }
  return node.text;
}

Value check_enum(const Param& param, const Node& node, const std::string& path) {
  bool word = node.kind == Node::Kind::kScalar;
  const std::vector<std::string>& words = param.enum_values;
  if (word && std::find(words.begin(), words.end(), node.text) != words.end()) return node.text;
  std::optional<std::string> close = word ? nearest(node.text, words) : std::nullopt;
  fail_value(param, node, path, allowed(param), close ? "nearest is " + *close : "");
}

Value check_list(const Param& param, const Node& node, const std::string& path) {
  if (node.kind != Node::Kind::kList) fail_value(param, node, path, allowed(param));
  Param element = param;
  element.flags &= ~static_cast<unsigned>(STC_PARAM_NULLABLE | STC_PARAM_REQUIRED);
  element.type = param.type == STC_PARAM_INT_LIST     ? STC_PARAM_INT
                 : param.type == STC_PARAM_FLOAT_LIST ? STC_PARAM_FLOAT
                                                      : STC_PARAM_STRING;
  Value list = Value::array();
  for (size_t i = 0; i < node.items.size(); ++i) {
    std::string item_path = path + "[" + std::to_string(i) + "]";
    std::optional<Value> value = check_value(element, *node.items[i], item_path);
    if (!value) fail_value(element, *node.items[i], item_path, allowed(element));
    list.push_back(*value);
  }
  return list;
}

Value check_object(const Param& param, const Node& node, const std::string& path) {
  if (node.kind != Node::Kind::kMap) fail_value(param, node, path, allowed(param));
  const std::vector<std::string>& known = param.enum_values;
  for (const Node::Entry& entry : node.entries) {
    if (known.empty() || std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    std::optional<std::string> close = nearest(entry.key, known);
    throw ConfigError(path + "." + entry.key + ": unknown key",
                      close ? "nearest key is " + path + "." + *close : "known keys are " + join(known), entry.at);
  }
  return to_value(node);
}

bool has_words(const Param& param) {
  return (param.type == STC_PARAM_INT || param.type == STC_PARAM_BOOL) && !param.enum_values.empty();
}

Value check_present(const Param& param, const Node& node, const std::string& path) {
  if (has_words(param) && node.kind == Node::Kind::kScalar) {
    const std::vector<std::string>& words = param.enum_values;
    if (std::find(words.begin(), words.end(), node.text) != words.end()) return node.text;
  }
  switch (param.type) {
    case STC_PARAM_INT: return check_int(param, node, path);
    case STC_PARAM_FLOAT: return check_float(param, node, path);
    case STC_PARAM_BOOL: return check_bool(param, node, path);
    case STC_PARAM_ENUM: return check_enum(param, node, path);
    case STC_PARAM_INT_LIST:
    case STC_PARAM_FLOAT_LIST:
    case STC_PARAM_STRING_LIST: return check_list(param, node, path);
    case STC_PARAM_OBJECT: return check_object(param, node, path);
    default: return check_string(param, node, path);
  }
}

Value check_device(const Param& param, const Node& node, const std::string& path) {
  Value value = check_string(param, node, path);
  std::string_view text = value.get_ref<const std::string&>();
  if (text == "auto" || text == "cpu" || text == "mps" || text == "cuda") return value;
  bool numbered = text.starts_with("cuda:") && text.size() > 5 && text.size() < 9 &&
                  text.find_first_not_of("0123456789", 5) == std::string_view::npos;
  if (!numbered) fail_value(param, node, path, "auto, cpu, cuda, cuda:<n> or mps");
  return value;
}

Value check_node_id(const Param& param, const Node& node, const std::string& path) {
  Value value = check_string(param, node, path);
  if (!is_path_safe(value.get_ref<const std::string&>())) {
    fail_value(param, node, path, "a name that is not empty, not . or .., and has no / or \\");
  }
  return value;
}

Value check_names(const Param& param, const Node& node, const std::string& path) {
  Value list = check_list(param, node, path);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string& name = list[i].get_ref<const std::string&>();
    if (name.find_first_not_of(" \t\n") != std::string::npos) continue;
    fail_value(param, *node.items[i], path + "[" + std::to_string(i) + "]", "a user name");
  }
  return list;
}

/// {match, lr, weight_decay}; null is as if not there.
Value check_group(const Node& node, const std::string& path) {
  Param group;
  group.type = STC_PARAM_OBJECT;
  group.enum_values = {"match", "lr", "weight_decay"};
  check_object(group, node, path);
  Param match;
  match.type = STC_PARAM_STRING;
  Param lr;
  lr.type = STC_PARAM_FLOAT;
  lr.flags = STC_PARAM_NULLABLE | STC_PARAM_HAS_MIN | STC_PARAM_MIN_EXCLUSIVE;
  Param decay = lr;
  decay.flags = STC_PARAM_NULLABLE | STC_PARAM_HAS_MIN;
  Value checked = Value::object();
  for (const Node::Entry& entry : node.entries) {
    const Param& field = entry.key == "match" ? match : entry.key == "lr" ? lr : decay;
    const std::optional<Value> value = check_value(field, *entry.value, path + "." + entry.key);
    if (value) checked[entry.key] = as_declared(field, *value);
  }
  if (checked.value("match", std::string()).empty()) {
    throw ConfigError(path + ".match: missing, expected a pattern of parameter names such as *.wte.*", {}, node.at);
  }
  return checked;
}

Value check_groups(const Param& param, const Node& node, const std::string& path) {
  if (node.kind != Node::Kind::kList) fail_value(param, node, path, "a list of mappings");
  Value list = Value::array();
  for (size_t i = 0; i < node.items.size(); ++i) {
    list.push_back(check_group(*node.items[i], path + "[" + std::to_string(i) + "]"));
  }
  return list;
}

Value check_path_or_map(const Param& param, const Node& node, const std::string& path) {
  Param one = param;
  one.type = STC_PARAM_PATH;
  if (node.kind == Node::Kind::kScalar) return check_string(one, node, path);
  if (node.kind != Node::Kind::kMap) {
    fail_value(param, node, path, "a path or a mapping of names to paths");
  }
  Value map = Value::object();
  for (const Node::Entry& entry : node.entries) {
    if (entry.key.empty()) throw ConfigError(path + ": got a name that is empty", {}, entry.at);
    map[entry.key] = check_string(one, *entry.value, path + "." + entry.key);
  }
  if (map.empty()) fail_value(param, node, path, "at least one name with its path");
  return map;
}

/// A mapping of typed sub-keys: each checked, defaults filled in, in the order of the declaration.
Value check_parts(const HostKey& key, const Node& node, const std::string& path) {
  check_object(key.param, node, path);
  Value result = Value::object();
  for (const Param& part : key.parts) {
    const std::string part_path = path + "." + part.name;
    std::optional<Value> value;
    for (const Node::Entry& entry : node.entries) {
      if (entry.key == part.name) value = check_value(part, *entry.value, part_path);
    }
    if (!value && (part.flags & STC_PARAM_REQUIRED) != 0) {
      throw ConfigError(part_path + ": missing, expected " + allowed(part), part.doc, node.at);
    }
    result[part.name] = value ? as_declared(part, *value) : default_value(part, part_path);
  }
  return result;
}

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

/// The word in the letter case of its key. Paths of libraries keep theirs, and so does what is none of
/// the key's words, for the message about it.
Node folded(const HostKey& key, const Node& node) {
  Node copy = node;
  if (key.fold == HostKey::Fold::kNone || node.kind != Node::Kind::kScalar) return copy;
  bool upper = key.fold == HostKey::Fold::kUpper;
  copy.text = trimmed(node.text);
  if (is_library_path(copy.text)) return copy;
  for (char& c : copy.text) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  const std::vector<std::string>& words = key.param.enum_values;
  bool unknown = !words.empty() && std::find(words.begin(), words.end(), copy.text) == words.end();
  return unknown ? node : copy;
}

}  // namespace

bool is_path_safe(std::string_view name) {
  size_t begin = name.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return false;
  name = name.substr(begin, name.find_last_not_of(" \t\n") + 1 - begin);
  if (name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(),
                      [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
}

void fail_value(const Param& param, const Node& node, const std::string& path, const std::string& expected,
                std::string hint) {
  std::string found = param.flags & STC_PARAM_SECRET ? "<redacted>" : show(node);
  throw ConfigError(path + ": got " + found + ", expected " + expected, std::move(hint), node.at);
}

std::optional<Value> check_value(const Param& param, const Node& node, const std::string& path) {
  if (!is_null(node)) return check_present(param, node, path);
  if (param.flags & STC_PARAM_NULLABLE) return Value(nullptr);
  return std::nullopt;
}

std::optional<Value> check_value(const HostKey& key, const Node& raw) {
  Node node = folded(key, raw);
  std::string path = key.path();
  if (is_null(node)) return check_value(key.param, node, path);
  if (!key.parts.empty()) return check_parts(key, node, path);
  switch (key.form) {
    case Form::kSeed: return check_seed(key.param, node, path);
    case Form::kNodeId: return check_node_id(key.param, node, path);
    case Form::kNames: return check_names(key.param, node, path);
    case Form::kGroups: return check_groups(key.param, node, path);
    case Form::kPathOrMap: return check_path_or_map(key.param, node, path);
    case Form::kDevice: return check_device(key.param, node, path);
    case Form::kSinks:
      if (node.kind == Node::Kind::kList) return to_value(node);
      if (node.kind == Node::Kind::kMap) {  // its keys may be secrets
        throw ConfigError(path + ": got a mapping, expected a list of names or {name, ...keys}",
                          "write it as a list: - name: ...", node.at);
      }
      fail_value(key.param, node, path, "a list of names or {name, ...keys}");
    case Form::kPlain: break;
  }
  return check_present(key.param, node, path);
}

Value as_declared(const Param& param, Value value) {
  if (param.type == STC_PARAM_FLOAT && value.is_number()) return value.get<double>();
  if (param.type == STC_PARAM_INT && value.is_number_unsigned()) {
    return static_cast<int64_t>(value.get<uint64_t>());
  }
  if (param.type == STC_PARAM_FLOAT_LIST && value.is_array()) {
    for (Value& item : value) item = item.get<double>();
  }
  return value;
}

Value default_value(const Param& param, const std::string& path) {
  if (!param.default_text) return nullptr;
  std::string text = *param.default_text;
  NodePtr node;
  bool is_text = param.type == STC_PARAM_STRING || param.type == STC_PARAM_PATH || param.type == STC_PARAM_ENUM;
  bool structured = !text.empty() && std::string_view("[{\"'").find(text[0]) != std::string_view::npos;
  Location at{"the default of " + path, 0, 0};
  node = structured ? read_yaml(text, at.file) : make_scalar(text, is_text, at);
  if (param.type == STC_PARAM_OBJECT) return to_value(*node);
  std::optional<Value> value = check_value(param, *node, path);
  return value ? as_declared(param, *value) : Value(nullptr);
}

}  // namespace stc::host
