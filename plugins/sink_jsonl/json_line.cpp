#include "json_line.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stc/plain/utf8.hpp"

namespace stc::jsonl {
namespace {

void append_control(std::string& out, unsigned char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

void append_float(std::string& out, double number) {
  char buffer[32];
  const std::string_view text(
      buffer, static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, number).ptr - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

void append_value(std::string& out, const Value& value) {
  if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_float() && std::isfinite(value.as_double())) {
    append_float(out, value.as_double());
  } else if (value.is_string()) {
    append_string(out, value.as_string());
  } else {
    out += "null";
  }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const char c = text.front();
    if (length == 0) {
      out += kReplacementCharacter;
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_control(out, static_cast<unsigned char>(c));
    } else {
      out += c;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string json_line(const EventView& event) {
  std::string line = "{\"event\": ";
  append_string(line, event.name());
  std::vector<std::string_view> names = {"event", "nonfinite"};
  std::vector<std::string_view> nonfinite;
  for (const auto& [name, value] : event) {
    bool taken = false;
    for (const std::string_view other : names) {
      taken = taken || other == name;
    }
    if (taken) {
      continue;
    }
    names.push_back(name);
    line += ", ";
    append_string(line, name);
    line += ": ";
    append_value(line, value);
    if (value.is_float() && !std::isfinite(value.as_double())) {
      nonfinite.push_back(name);
    }
  }
  for (std::size_t i = 0; i < nonfinite.size(); ++i) {
    line += i == 0 ? ", \"nonfinite\": [" : ", ";
    append_string(line, nonfinite[i]);
  }
  line += nonfinite.empty() ? "}\n" : "]}\n";
  return line;
}

}  // namespace stc::jsonl
