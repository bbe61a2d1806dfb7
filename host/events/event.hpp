/// \file
/// A record on its way to the sinks: a name and ordered fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stc::host {

/// Null, bool, integer, float (NaN and infinity allowed; sinks write null and a flag), or text.
using FieldValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// elapsed_s is added by the bus when absent. Names and fields are declared in
/// sdk/include/stc/events.hpp and frozen by tests/surface/events.txt.
struct Event {
  std::string name;
  std::vector<std::pair<std::string, FieldValue>> fields;

  explicit Event(std::string event_name) : name(std::move(event_name)) {}
  Event& add(std::string key, FieldValue value);
};

}  // namespace stc::host
