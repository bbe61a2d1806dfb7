#include "host/events/fields.hpp"

#include <bit>

namespace stc::host {
namespace {

FieldValue from_value(const stc_value& value) {
  switch (value.kind) {
    case STC_VALUE_BOOL: return value.payload[0] != 0;
    case STC_VALUE_INT: return static_cast<int64_t>(value.payload[0]);
    case STC_VALUE_FLOAT: return std::bit_cast<double>(value.payload[0]);
    case STC_VALUE_STRING:
      return std::string(reinterpret_cast<const char*>(static_cast<uintptr_t>(value.payload[0])),
                         static_cast<std::size_t>(value.payload[1]));
    default: return std::monostate{};
  }
}

struct ToValue {
  stc_value operator()(std::monostate) const { return {STC_VALUE_NULL, 0, {0, 0}}; }
  stc_value operator()(bool flag) const { return {STC_VALUE_BOOL, 0, {flag ? 1u : 0u, 0}}; }
  stc_value operator()(int64_t number) const { return {STC_VALUE_INT, 0, {static_cast<uint64_t>(number), 0}}; }
  stc_value operator()(double number) const { return {STC_VALUE_FLOAT, 0, {std::bit_cast<uint64_t>(number), 0}}; }
  stc_value operator()(const std::string& text) const {
    return {STC_VALUE_STRING, 0, {reinterpret_cast<uintptr_t>(text.c_str()), text.size()}};
  }
};

}  // namespace

Event event_from_fields(const std::string& name, const stc_field* fields, uint64_t count) {
  Event event(name);
  event.fields.reserve(count + 1);
  for (uint64_t i = 0; i < count; ++i) event.add(fields[i].name, from_value(fields[i].value));
  return event;
}

std::vector<stc_field> fields_of_event(const Event& event) {
  std::vector<stc_field> fields;
  fields.reserve(event.fields.size());
  for (const auto& [name, value] : event.fields) {
    fields.push_back({name.c_str(), std::visit(ToValue{}, value)});
  }
  return fields;
}

}  // namespace stc::host
