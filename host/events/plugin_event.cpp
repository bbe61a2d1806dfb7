#include "host/events/plugin_event.hpp"

#include <bit>

namespace stc::host {
namespace {

FieldValue to_field_value(const stc_value& value) {
  switch (value.kind) {
    case STC_VALUE_BOOL:
      return value.payload[0] != 0;
    case STC_VALUE_INT:
      return std::bit_cast<int64_t>(value.payload[0]);
    case STC_VALUE_FLOAT:
      return std::bit_cast<double>(value.payload[0]);
    case STC_VALUE_STRING:
      return std::string(reinterpret_cast<const char*>(value.payload[0]), value.payload[1]);
    default:
      return {};
  }
}

}  // namespace

Event event_from_fields(const std::string& name, const stc_field* fields, uint64_t n) {
  Event event(name);
  for (uint64_t i = 0; i < n; ++i) event.add(fields[i].name, to_field_value(fields[i].value));
  return event;
}

}  // namespace stc::host
