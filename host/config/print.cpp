#include <algorithm>
#include <string_view>
#include <utility>

#include "host/config/config.hpp"
#include "host/config/scalar.hpp"

namespace stc::host {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Whether the word reads back as the same string without quotes, also inside [ ] and { }.
bool is_safe_plain(std::string_view text) {
  if (text.empty() || classify_plain(text) != PlainKind::kString || ambiguity(text)) return false;
  if (!is_letter(text.front()) && std::string_view("_./").find(text.front()) == text.npos) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool word = is_letter(c) || (c >= '0' && c <= '9') || std::string_view("_./-+").find(c) != text.npos;
    bool inner_colon = c == ':' && i + 1 < text.size() && text[i + 1] != ' ';
    bool inner_space = c == ' ' && i + 1 < text.size();
    if (!word && !inner_colon && !inner_space) return false;
  }
  return true;
}

/// JSON's escapes are YAML's; characters that YAML readers treat as line ends or refuse are added.
std::string quoted(const std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {{"\x7F", "\\x7f"},
                                                                               {"\xC2\x85", "\\u0085"},
                                                                               {"\xE2\x80\xA8", "\\u2028"},
                                                                               {"\xE2\x80\xA9", "\\u2029"},
                                                                               {"\xEF\xBB\xBF", "\\ufeff"}};
  std::string out = Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
  for (const auto& [character, escape] : kEscapes) {
    for (size_t at = out.find(character); at != std::string::npos; at = out.find(character, at)) {
      out.replace(at, character.size(), escape);
    }
  }
  return out;
}

std::string word(const std::string& text) { return is_safe_plain(text) ? text : quoted(text); }

std::string flow(const Value& value) {
  if (value.is_string()) return word(value.get_ref<const std::string&>());
  if (value.is_number_float()) return format_double(value.get<double>());
  if (value.is_primitive()) return value.dump();
  std::string out;
  for (const auto& [key, child] : value.items()) {
    out += out.empty() ? "" : ", ";
    out += value.is_object() ? word(key) + ": " + flow(child) : flow(child);
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

void append_entry(std::string& out, const std::string& indent, const std::string& key, const Value& value) {
  out += indent + word(key) + ":";
  bool list_of_objects =
      value.is_array() && std::any_of(value.begin(), value.end(), [](const Value& v) { return v.is_object(); });
  if (!list_of_objects) {
    out += " " + flow(value) + "\n";
    return;
  }
  out += "\n";
  for (const Value& item : value) out += indent + "  - " + flow(item) + "\n";
}

}  // namespace

std::string to_yaml(const Value& value) {
  std::string out;
  for (const auto& [section, content] : value.items()) {
    if (!content.is_object() || content.empty()) {
      append_entry(out, "", section, content);
      continue;
    }
    out += word(section) + ":\n";
    for (const auto& [key, child] : content.items()) append_entry(out, "  ", key, child);
  }
  return out;
}

std::string to_json(const Value& value) { return value.dump(2, ' ', false, Value::error_handler_t::replace); }

}  // namespace stc::host
