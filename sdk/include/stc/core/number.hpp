/// \file
/// Numbers and words as YAML text, the same in every locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace stc::detail {

inline std::string yaml_text(bool value) { return value ? "true" : "false"; }

inline std::string yaml_text(int64_t value) { return std::to_string(value); }

/// The shortest text that reads back as the same double, and as a number to every YAML reader:
/// "0.1", "1.0", "1.0e-8", ".inf".
inline std::string yaml_text(double value) {
  if (std::isnan(value)) {
    return ".nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? ".inf" : "-.inf";
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  std::string_view exponent;
  if (const auto e = text.find('e'); e != std::string_view::npos) {
    exponent = text.substr(e + 1);
    text = text.substr(0, e);
  }
  std::string out(text);
  if (text.find('.') == std::string_view::npos) {
    out += ".0";
  }
  if (!exponent.empty()) {
    out += 'e';
    out += exponent.front();  // always a sign
    exponent.remove_prefix(1);
    while (exponent.size() > 1 && exponent.front() == '0') {
      exponent.remove_prefix(1);
    }
    out += exponent;
  }
  return out;
}

/// Whether YAML reads the word, unquoted, as this same string.
inline bool is_plain_word(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
  };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  if (text.empty() || !is_letter(text.front())) {
    return false;
  }
  for (char c : text) {
    if (!is_inner(c)) {
      return false;
    }
  }
  std::string lower(text);
  for (char& c : lower) {
    c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const char* word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan", "infinity"}) {
    if (lower == word) {
      return false;
    }
  }
  return true;
}

/// Plain where that is safe, else double-quoted.
inline std::string yaml_text(const std::string& value) {
  if (is_plain_word(value)) {
    return value;
  }
  std::string out = "\"";
  for (char c : value) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          constexpr const char* kHex = "0123456789abcdef";
          out += "\\x";
          out += kHex[(static_cast<unsigned char>(c) >> 4) & 15];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

}  // namespace stc::detail
