#include "host/config/node.hpp"

#include <utility>

#include "host/config/scalar.hpp"

namespace stc::host {
namespace {

constexpr size_t kShownCharacters = 60;

void append_shown(const Node& node, std::string& out) {
  if (out.size() > kShownCharacters) return;
  switch (node.kind) {
    case Node::Kind::kScalar:
      if (node.quoted) {
        out += Value(node.text).dump(-1, ' ', false, Value::error_handler_t::replace);
      } else {
        out += node.text.empty() ? "null" : node.text;
      }
      return;
    case Node::Kind::kList: {
      const char* separator = "[";
      for (const NodePtr& item : node.items) {
        out += std::exchange(separator, ", ");
        append_shown(*item, out);
      }
      out += node.items.empty() ? "[]" : "]";
      return;
    }
    case Node::Kind::kMap: {
      const char* separator = "{";
      for (const Node::Entry& entry : node.entries) {
        out += std::exchange(separator, ", ") + entry.key + ": ";
        append_shown(*entry.value, out);
      }
      out += node.entries.empty() ? "{}" : "}";
      return;
    }
  }
}

/// Cuts without splitting a UTF-8 sequence.
std::string cut(std::string text) {
  if (text.size() <= kShownCharacters) return text;
  size_t end = kShownCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

bool is_null(const Node& node) {
  return node.kind == Node::Kind::kScalar && !node.quoted && classify_plain(node.text) == PlainKind::kNull;
}

const Node::Entry* find_entry(const Node& map, const std::string& key) {
  for (const Node::Entry& entry : map.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string show(const Node& node) {
  std::string out;
  append_shown(node, out);
  return cut(std::move(out));
}

Value to_value(const Node& node) {
  if (node.kind == Node::Kind::kList) {
    Value list = Value::array();
    for (const NodePtr& item : node.items) list.push_back(to_value(*item));
    return list;
  }
  if (node.kind == Node::Kind::kMap) {
    Value object = Value::object();
    for (const Node::Entry& entry : node.entries) object[entry.key] = to_value(*entry.value);
    return object;
  }
  if (node.quoted) return node.text;
  switch (classify_plain(node.text)) {
    case PlainKind::kNull: return nullptr;
    case PlainKind::kBool: return parse_bool(node.text);
    case PlainKind::kInteger:
      if (std::optional<Value> value = parse_integer(node.text)) return *value;
      return node.text;
    case PlainKind::kFloat:
      if (std::optional<double> value = parse_double(node.text)) return *value;
      return node.text;
    case PlainKind::kString: break;
  }
  return node.text;
}

NodePtr make_scalar(std::string text, bool quoted, Location at) {
  auto node = std::make_shared<Node>();
  node->text = std::move(text);
  node->quoted = quoted;
  node->at = std::move(at);
  return node;
}

NodePtr from_value(const Value& value, const Location& at) {
  if (value.is_null()) return make_scalar("null", false, at);
  if (value.is_string()) return make_scalar(value.get<std::string>(), true, at);
  if (value.is_number_float()) return make_scalar(format_double(value.get<double>()), false, at);
  if (value.is_primitive()) return make_scalar(value.dump(), false, at);
  auto node = std::make_shared<Node>();
  node->at = at;
  node->kind = value.is_array() ? Node::Kind::kList : Node::Kind::kMap;
  for (const auto& [key, child] : value.items()) {
    if (value.is_array()) {
      node->items.push_back(from_value(child, at));
    } else {
      node->entries.push_back({key, at, from_value(child, at)});
    }
  }
  return node;
}

}  // namespace stc::host
