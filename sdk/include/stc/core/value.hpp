/// \file
/// A typed look at an stc_value.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "stc/core/fault.hpp"

namespace stc {

/// Null, bool, int, float, text, list or object. A view: text and nodes live as long as their
/// source.
class Value {
 public:
  Value() : raw_{} {}
  explicit Value(const stc_value& raw) : raw_(raw) {}
  Value(std::nullptr_t) : raw_{} {}
  Value(bool value) : raw_{STC_VALUE_BOOL, 0, {value ? uint64_t{1} : uint64_t{0}, 0}} {}
  Value(double value) : raw_{STC_VALUE_FLOAT, 0, {std::bit_cast<uint64_t>(value), 0}} {}
  Value(float value) : Value(static_cast<double>(value)) {}
  template <class Int>
  requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>) Value(Int value)
      : raw_{STC_VALUE_INT, 0, {static_cast<uint64_t>(static_cast<int64_t>(value)), 0}} {}
  /// Text is borrowed and must be NUL-terminated at its end.
  Value(const char* text) : Value(text, std::char_traits<char>::length(text)) {}
  Value(const std::string& text) : Value(text.c_str(), text.size()) {}

  int32_t kind() const { return raw_.kind; }
  bool is_null() const { return raw_.kind == STC_VALUE_NULL; }
  bool is_bool() const { return raw_.kind == STC_VALUE_BOOL; }
  bool is_int() const { return raw_.kind == STC_VALUE_INT; }
  bool is_float() const { return raw_.kind == STC_VALUE_FLOAT; }
  bool is_number() const { return is_int() || is_float(); }
  bool is_string() const { return raw_.kind == STC_VALUE_STRING; }
  bool is_list() const { return raw_.kind == STC_VALUE_LIST; }
  bool is_object() const { return raw_.kind == STC_VALUE_OBJECT; }

  /// Each throws Fault(INVALID_ARGUMENT) on another kind; as_double takes integers too.
  bool as_bool() const {
    expect(is_bool(), "bool");
    return raw_.payload[0] != 0;
  }
  int64_t as_int() const {
    expect(is_int(), "int");
    return static_cast<int64_t>(raw_.payload[0]);
  }
  double as_double() const {
    if (is_int()) {
      return static_cast<double>(static_cast<int64_t>(raw_.payload[0]));
    }
    expect(is_float(), "float");
    return std::bit_cast<double>(raw_.payload[0]);
  }
  /// Also NUL-terminated.
  std::string_view as_string() const {
    expect(is_string(), "string");
    return {reinterpret_cast<const char*>(static_cast<uintptr_t>(raw_.payload[0])),
            static_cast<std::size_t>(raw_.payload[1])};
  }
  /// The node of a list or object.
  const stc_config* as_node() const {
    expect(is_list() || is_object(), "list or object");
    return reinterpret_cast<const stc_config*>(static_cast<uintptr_t>(raw_.payload[0]));
  }

  const char* kind_name() const {
    switch (raw_.kind) {
      case STC_VALUE_NULL: return "null";
      case STC_VALUE_BOOL: return "bool";
      case STC_VALUE_INT: return "int";
      case STC_VALUE_FLOAT: return "float";
      case STC_VALUE_STRING: return "string";
      case STC_VALUE_LIST: return "list";
      case STC_VALUE_OBJECT: return "object";
      default: return "unknown";
    }
  }
  const stc_value& raw() const { return raw_; }

 private:
  Value(const char* text, std::size_t size)
      : raw_{STC_VALUE_STRING, 0, {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(text)), size}} {}
  void expect(bool right, const char* wanted) const {
    if (!right) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, std::string("value: got ") + kind_name() + ", expected " + wanted);
    }
  }

  stc_value raw_;
};

}  // namespace stc
