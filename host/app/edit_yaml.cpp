#include "host/app/edit_yaml.hpp"

#include <algorithm>
#include <vector>

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

using Path = std::vector<std::string>;
constexpr size_t kNowhere = std::string::npos;

Path split(const std::string& dotted) {
  Path out;
  size_t begin = 0;
  for (size_t dot = dotted.find('.'); dot != kNowhere; dot = dotted.find('.', begin)) {
    out.push_back(dotted.substr(begin, dot - begin));
    begin = dot + 1;
  }
  out.push_back(dotted.substr(begin));
  return out;
}

/// Null: no such key.
YAML::Node child_of(const YAML::Node& map, const std::string& key) {
  for (const auto& item : map) {
    if (item.first.IsScalar() && item.first.Scalar() == key) return item.second;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

bool same(const YAML::Node& a, const YAML::Node& b) {
  if (a.Type() != b.Type() || a.size() != b.size()) return false;
  if (a.IsScalar()) return a.Scalar() == b.Scalar() && a.Tag() == b.Tag();
  if (a.IsSequence()) return std::equal(a.begin(), a.end(), b.begin(), [](auto x, auto y) { return same(x, y); });
  if (!a.IsMap()) return true;
  return std::all_of(a.begin(), a.end(), [&](const auto& item) {
    const YAML::Node other = item.first.IsScalar() ? child_of(b, item.first.Scalar()) : YAML::Node();
    return other.IsDefined() && same(item.second, other);
  });
}

size_t start_of_line(const std::string& text, int line) {
  size_t at = 0;
  for (; line > 0; --line) {
    at = text.find('\n', at);
    if (at == kNowhere) return kNowhere;
    ++at;
  }
  return at;
}

size_t offset_of(const std::string& text, const YAML::Mark& mark) {
  const size_t line = mark.is_null() ? kNowhere : start_of_line(text, mark.line);
  return line == kNowhere ? kNowhere : std::min(text.size(), line + static_cast<size_t>(mark.column));
}

/// Of one that begins at `at`, on its line.
size_t end_of_scalar(const std::string& text, size_t at, bool in_flow) {
  if (text[at] == '"' || text[at] == '\'') return std::min(text.size(), text.find(text[at], at + 1) + 1);
  size_t end = std::min(text.size(), text.find_first_of(in_flow ? "\r\n,]}" : "\r\n", at));
  end = std::min(end, text.find(" #", at));
  while (end > at && text[end - 1] == ' ') --end;
  return end;
}

/// On the line of `at`, behind it.
void add_comment(std::string& text, size_t at) {
  const size_t end = std::min(text.size(), text.find_first_of("\r\n", at));
  const size_t comment = text.find(" #", at);
  if (comment >= end) {
    text.insert(end, "  # tuned");
  } else if (text.compare(comment, 8, " # tuned") != 0) {
    text.insert(comment + 2, " tuned;");
  }
}

std::string nested(const Path& path, const std::string& value, size_t indent) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i, indent += 2) {
    out += std::string(indent, ' ') + path[i] + (i + 1 < path.size() ? ":\n" : ": " + value + "  # tuned\n");
  }
  return out;
}

std::string nested_flow(const Path& path, const std::string& value) {
  std::string out = value;
  for (size_t i = path.size(); i-- > 0;) out = path[i] + ": " + (i + 1 < path.size() ? "{" + out + "}" : out);
  return out;
}

/// \param path  that `map` lacks. \returns whether it could.
bool insert(std::string& text, const YAML::Node& map, const Path& path, const std::string& value, bool is_root) {
  if (is_root) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += nested(path, value, 0);
    return true;
  }
  const size_t at = offset_of(text, map.Style() == YAML::EmitterStyle::Flow ? map.Mark() : map.begin()->first.Mark());
  if (at == kNowhere) return false;
  if (map.Style() != YAML::EmitterStyle::Flow) {
    const auto indent = static_cast<size_t>(map.begin()->first.Mark().column);
    text.insert(at - indent, nested(path, value, indent));
    return true;
  }
  if (text[at] != '{') return false;
  const std::string added = nested_flow(path, value) + (map.size() > 0 ? ", " : "");
  text.insert(at + 1, added);
  add_comment(text, at + 1 + added.size());
  return true;
}

bool replace(std::string& text, const YAML::Node& old, const std::string& value, bool in_flow) {
  const size_t at = offset_of(text, old.Mark());
  if (!(old.IsScalar() || old.IsNull()) || at >= text.size()) return false;
  text.replace(at, end_of_scalar(text, at, in_flow) - at, value);
  add_comment(text, at + value.size());
  return true;
}

bool set_in_text(std::string& text, const std::string& key, const std::string& value) {
  const YAML::Node root = YAML::Load(text);
  const Path path = split(key);
  YAML::Node map = root;
  for (size_t i = 0; i < path.size(); ++i) {
    if (!map.IsMap()) return false;
    const YAML::Node next = child_of(map, path[i]);
    if (!next.IsDefined())
      return insert(text, map, Path(path.begin() + static_cast<int64_t>(i), path.end()), value, i == 0);
    if (i + 1 == path.size()) return replace(text, next, value, map.Style() == YAML::EmitterStyle::Flow);
    map.reset(next);
  }
  return false;
}

/// A copy in which no two places share a node, as those of an alias do.
YAML::Node unshared(const YAML::Node& node) {
  if (!node.IsMap() && !node.IsSequence()) return YAML::Clone(node);
  YAML::Node out(node.Type());
  out.SetStyle(node.Style());
  for (const auto& item : node) {
    if (node.IsSequence()) {
      out.push_back(unshared(item));
    } else {
      out.force_insert(unshared(item.first), unshared(item.second));
    }
  }
  return out;
}

void set_in_tree(YAML::Node node, const Path& path, size_t i, const YAML::Node& value) {
  if (i + 1 == path.size()) {
    node[path[i]] = value;
    return;
  }
  if (!node[path[i]].IsDefined() || node[path[i]].IsNull()) node[path[i]] = YAML::Node(YAML::NodeType::Map);
  set_in_tree(node[path[i]], path, i + 1, value);
}

}  // namespace

YAML::Node read_with_changes(const std::string& text, const KeyValues& changes) {
  YAML::Node root = unshared(YAML::Load(text));
  if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
  if (!root.IsMap()) throw ConfigError("the file is no mapping");
  for (const auto& [key, value] : changes) set_in_tree(root, split(key), 0, YAML::Load(value));
  return root;
}

std::optional<std::string> edit_yaml(const std::string& text, const KeyValues& changes) try {
  const YAML::Node before = YAML::Load(text);
  if (!before.IsMap() || before.size() == 0 || before.Style() == YAML::EmitterStyle::Flow) return std::nullopt;
  const bool marked = text.starts_with("\xEF\xBB\xBF");  // which belongs at the begin of a file, before its new header
  std::string out = text.substr(marked ? 3 : 0);
  for (const auto& [key, value] : changes) {
    if (!set_in_text(out, key, value)) return std::nullopt;
  }
  if (!same(YAML::Load(out), read_with_changes(text, changes))) return std::nullopt;
  return out;
} catch (const YAML::Exception&) {  // the text as changed is none
  return std::nullopt;
}

}  // namespace stc::host
