#include "tests/cli/support/event_log.hpp"

#include <sstream>

#include "stc/events.hpp"

namespace stc::test {
namespace {

bool has_type(const Record& value, events::Type type) {
  switch (type) {
    case events::Type::kBool: return value.is_boolean();
    case events::Type::kInt: return value.is_number_integer();
    case events::Type::kFloat: return value.is_number_float();
    case events::Type::kText: return value.is_string();
  }
  return false;
}

bool is_nonfinite(const Record& record, std::string_view name) {
  if (!record.contains("nonfinite")) return false;
  for (const Record& entry : record["nonfinite"]) {
    if (entry == std::string(name)) return true;
  }
  return false;
}

void check_field(const Record& record, const events::Field& field, const std::string& where,
                 std::vector<std::string>& faults) {
  const std::string name(field.name);
  if (!record.contains(name)) {
    if (field.presence != events::Presence::kOptional) faults.push_back(where + name + " is missing");
    return;
  }
  const Record& value = record[name];
  if (value.is_null()) {
    if (field.presence != events::Presence::kNullable && !is_nonfinite(record, name)) {
      faults.push_back(where + name + " is null");
    }
  } else if (!has_type(value, field.type)) {
    faults.push_back(where + name + " is " + value.dump() + ", of another type than declared");
  }
}

void check_declared(const Record& record, const std::string& where, std::vector<std::string>& faults) {
  const auto* declaration = events::find(record["event"].get<std::string>());
  if (declaration == nullptr) return;  // of a plugin
  bool brings_elapsed = false;
  for (const events::Field& field : declaration->fields) {
    check_field(record, field, where, faults);
    brings_elapsed = brings_elapsed || field.name == events::kElapsed.name;
  }
  if (!brings_elapsed) check_field(record, events::kElapsed, where, faults);
}

bool equals(const Record& value, const YAML::Node& expected) {
  if (expected.IsNull()) return value.is_null();
  if (expected.IsMap()) {
    if (!value.is_number()) return false;
    const double number = value.get<double>();
    return (!expected["min"] || number >= expected["min"].as<double>()) &&
           (!expected["max"] || number <= expected["max"].as<double>());
  }
  if (value.is_boolean()) return value.get<bool>() == expected.as<bool>(!value.get<bool>());
  if (value.is_number()) {
    double number = 0;
    return YAML::convert<double>::decode(expected, number) && number == value.get<double>();
  }
  return value.is_string() && value.get<std::string>() == expected.as<std::string>();
}

bool matches(const Record& record, const YAML::Node& expected) {
  for (const auto& entry : expected) {
    const std::string name = entry.first.as<std::string>();
    if (!record.contains(name) || !equals(record[name], entry.second)) return false;
  }
  return true;
}

std::string one_line(const YAML::Node& node) {
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

}  // namespace

std::vector<Record> read_event_log(const std::string& text, std::vector<std::string>& faults) {
  std::vector<Record> records;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = "line " + std::to_string(++number) + " of the event log: ";
    Record record = Record::parse(line, nullptr, false);
    if (!record.is_object() || record.empty() || record.begin().key() != "event" || !record["event"].is_string()) {
      faults.push_back(where + "no object that begins with \"event\": " + line);
      continue;
    }
    check_declared(record, where, faults);
    records.push_back(std::move(record));
  }
  if (!text.empty() && text.back() != '\n') faults.push_back("the event log ends in the middle of a line");
  return records;
}

void expect_events(const std::vector<Record>& records, const YAML::Node& expected, std::vector<std::string>& faults) {
  std::size_t next = 0;
  for (const auto& wanted : expected) {
    const std::size_t from = next;
    while (next < records.size() && !matches(records[next], wanted)) ++next;
    if (next == records.size()) {
      faults.push_back("event not found after record " + std::to_string(from) + " of " +
                       std::to_string(records.size()) + ": " + one_line(wanted));
      return;
    }
    ++next;
  }
}

}  // namespace stc::test
