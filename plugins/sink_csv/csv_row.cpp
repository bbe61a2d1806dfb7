#include "csv_row.hpp"

#include <charconv>
#include <cmath>

namespace stc::csv {

std::string quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(cell);
  }
  std::string out = "\"";
  for (const char c : cell) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  return out + '"';
}

std::string cell_of(const Value& value) {
  if (value.is_bool()) {
    return value.as_bool() ? "true" : "false";
  }
  if (value.is_int()) {
    return std::to_string(value.as_int());
  }
  if (value.is_float()) {
    const double number = value.as_double();
    if (std::isnan(number)) {
      return "nan";
    }
    if (std::isinf(number)) {
      return number > 0 ? "inf" : "-inf";
    }
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
  }
  return value.is_string() ? quoted(value.as_string()) : std::string();
}

std::string header_line(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& column : columns) {
    line += line.empty() ? "" : ",";
    line += quoted(column);
  }
  return line + "\n";
}

}  // namespace stc::csv
