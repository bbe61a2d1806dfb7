/// \file
/// Checks of a run's event log: every line strict JSON in the declared form, and the expected events in order.
#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

namespace stc::test {

using Record = nlohmann::ordered_json;

/// Reads JSON lines and appends what is wrong with them to `faults`: no object, "event" not first, a field of a
/// declared event (stc/events.hpp) that is missing or of another type.
std::vector<Record> read_event_log(const std::string& text, std::vector<std::string>& faults);

/// Looks for `expected` (a list of mappings) as a subsequence of `records`; appends the first that is not found.
/// A value is equal, or a mapping {min: x, max: y} that holds it; ~ is null.
void expect_events(const std::vector<Record>& records, const YAML::Node& expected, std::vector<std::string>& faults);

}  // namespace stc::test
