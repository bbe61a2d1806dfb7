#include "host/services/config_values.hpp"

#include <bit>
#include <iterator>
#include <limits>

#include "host/services/services.hpp"

namespace stc::host {

stc_error* view_value(const Value& value, const char* key, stc_value* out) {
  *out = stc_value{};
  switch (value.type()) {
    case Value::value_t::null: out->kind = STC_VALUE_NULL; return nullptr;
    case Value::value_t::boolean:
      out->kind = STC_VALUE_BOOL;
      out->payload[0] = value.get<bool>() ? 1 : 0;
      return nullptr;
    case Value::value_t::number_unsigned: {
      const uint64_t number = value.get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return make_error(STC_ERROR_INVALID_CONFIG,
                          "got " + std::to_string(number) + ", the largest integer is 9223372036854775807",
                          key != nullptr ? key : "");
      }
      out->kind = STC_VALUE_INT;
      out->payload[0] = number;
      return nullptr;
    }
    case Value::value_t::number_integer:
      out->kind = STC_VALUE_INT;
      out->payload[0] = std::bit_cast<uint64_t>(value.get<int64_t>());
      return nullptr;
    case Value::value_t::number_float:
      out->kind = STC_VALUE_FLOAT;
      out->payload[0] = std::bit_cast<uint64_t>(value.get<double>());
      return nullptr;
    case Value::value_t::string: {
      const std::string& text = value.get_ref<const std::string&>();
      out->kind = STC_VALUE_STRING;
      out->payload[0] = reinterpret_cast<uintptr_t>(text.c_str());
      out->payload[1] = text.size();
      return nullptr;
    }
    case Value::value_t::array:
    case Value::value_t::object:
      out->kind = value.is_array() ? STC_VALUE_LIST : STC_VALUE_OBJECT;
      out->payload[0] = reinterpret_cast<uintptr_t>(as_config(value));
      return nullptr;
    case Value::value_t::binary:
    case Value::value_t::discarded: break;
  }
  return make_error(STC_ERROR_INTERNAL, "a configuration value has no type of the plugin interface");
}

stc_error* config_get(void*, const stc_config* config, const char* key, stc_value* out) noexcept {
  if (config == nullptr || key == nullptr || out == nullptr) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "config_get: config, key and out must not be null");
  }
  const Value& node = as_value(config);
  if (!node.is_object()) {
    return make_error(STC_ERROR_INVALID_ARGUMENT,
                      std::string("config_get: the node is not an object; asked for ") + key);
  }
  const auto it = node.find(key);
  if (it == node.end()) return make_error(STC_ERROR_NOT_FOUND, std::string("no key ") + key, key);
  return view_value(*it, key, out);
}

uint64_t config_size(void*, const stc_config* config) noexcept {
  if (config == nullptr) return 0;
  const Value& node = as_value(config);
  return node.is_structured() ? node.size() : 0;
}

stc_error* config_at(void*, const stc_config* config, uint64_t index, const char** out_key, stc_value* out) noexcept {
  if (config == nullptr || out == nullptr) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "config_at: config and out must not be null");
  }
  const Value& node = as_value(config);
  const uint64_t size = node.is_structured() ? node.size() : 0;
  if (index >= size) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "config_at: index " + std::to_string(index) + ", the node has " +
                                                      std::to_string(size) + " entries");
  }
  const char* key = nullptr;
  const Value* value = nullptr;
  if (node.is_object()) {
    const auto it = std::next(node.begin(), static_cast<std::ptrdiff_t>(index));
    key = it.key().c_str();
    value = &it.value();
  } else {
    value = &node[index];
  }
  if (out_key != nullptr) *out_key = key;
  return view_value(*value, key, out);
}

}  // namespace stc::host
