#include "host/checkpoint/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "host/checkpoint/dtype.hpp"
#include "host/checkpoint/value_differences.hpp"
#include "stc/abi/core.h"
#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

/// Longer texts are told apart, not shown.
constexpr size_t kShown = 80;

template <class T>
T read_as(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// IEEE 754 binary16.
double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0 + mantissa, exponent - 25);
}

double element(int dtype, const uint8_t* bytes) {
  switch (dtype) {
    case STC_DTYPE_FLOAT32: return read_as<float>(bytes);
    case STC_DTYPE_FLOAT64: return read_as<double>(bytes);
    case STC_DTYPE_FLOAT16: return half_value(read_as<uint16_t>(bytes));
    case STC_DTYPE_BFLOAT16: return std::bit_cast<float>(uint32_t{read_as<uint16_t>(bytes)} << 16);
    case STC_DTYPE_INT64: return static_cast<double>(read_as<int64_t>(bytes));
    case STC_DTYPE_INT32: return read_as<int32_t>(bytes);
    case STC_DTYPE_INT16: return read_as<int16_t>(bytes);
    case STC_DTYPE_INT8: return read_as<int8_t>(bytes);
    default: return *bytes;
  }
}

Value compare_values(const HostTensor& a, const HostTensor& b) {
  const auto* left = static_cast<const uint8_t*>(a.data);
  const auto* right = static_cast<const uint8_t*>(b.data);
  const uint64_t size = dtype_size(a.dtype);
  uint64_t differing = 0;
  double largest = 0;
  for (uint64_t i = 0; i < a.bytes; i += size) {
    if (std::memcmp(left + i, right + i, size) == 0) continue;
    ++differing;
    const double difference = std::abs(element(a.dtype, left + i) - element(b.dtype, right + i));
    if (!(difference <= largest)) largest = difference;  // also when it is no number
  }
  if (differing == 0) return {};
  return {{"what", "values"},
          {"elements", differing},
          {"of", a.bytes / size},
          {"max_difference", std::isfinite(largest) ? Value(largest) : Value()}};
}

Value compare_tensors(const HostTensor* a, const HostTensor* b) {
  if (a == nullptr || b == nullptr) return {{"what", a != nullptr ? "only in A" : "only in B"}};
  if (a->dtype != b->dtype || a->shape != b->shape) return {{"what", "shape or type"}};
  if (a->bytes == 0 || std::memcmp(a->data, b->data, a->bytes) == 0) return {};
  return compare_values(*a, *b);
}

void add_tensors(Value& out, const char* part, const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  std::map<std::string, std::pair<const HostTensor*, const HostTensor*>> pairs;
  for (const HostTensor& tensor : a) pairs[tensor.name].first = &tensor;
  for (const HostTensor& tensor : b) pairs[tensor.name].second = &tensor;
  for (const auto& [name, pair] : pairs) {
    Value difference = compare_tensors(pair.first, pair.second);
    if (difference.is_null()) continue;
    difference["part"] = part;
    difference["name"] = name;
    out.push_back(std::move(difference));
  }
}

std::string shown(const Value& value) {
  const std::string text = value.dump();
  return text.size() <= kShown ? text : "(" + std::to_string(text.size()) + " bytes of text)";
}

std::string tensor_line(const Value& tensor) {
  std::string line = "  " + tensor["part"].get<std::string>() + " " + tensor["name"].get<std::string>() + ": ";
  const auto what = tensor["what"].get<std::string>();
  if (what != "values") return line + what + "\n";
  line += tensor["elements"].dump() + " of " + tensor["of"].dump() + " elements differ, by at most ";
  return line + (tensor["max_difference"].is_null() ? "no finite number" : tensor["max_difference"].dump()) + "\n";
}

}  // namespace

Value compare_checkpoints(const LoadedCheckpoint& a, const LoadedCheckpoint& b) {
  Value values = Value::array(), tensors = Value::array();
  if (a.run_id != b.run_id) values.push_back({{"key", "run_id"}, {"a", a.run_id}, {"b", b.run_id}});
  if (a.version != b.version) values.push_back({{"key", "version"}, {"a", a.version}, {"b", b.version}});
  for_each_difference(a.state, b.state,
                      [&](const std::vector<std::string>& keys, const Value& left, const Value& right) {
                        if (keys == std::vector<std::string>{"run_id"}) return;  // the manifest's, above
                        values.push_back({{"key", dotted(keys)}, {"a", left}, {"b", right}});
                      });
  add_tensors(tensors, "model", a.model, b.model);
  add_tensors(tensors, "optimizer", a.optimizer, b.optimizer);
  add_tensors(tensors, "ema", a.ema, b.ema);
  add_tensors(tensors, "coordinator", a.coordinator, b.coordinator);
  const bool equal = values.empty() && tensors.empty();
  return {{"a", a.path}, {"b", b.path}, {"equal", equal}, {"values", values}, {"tensors", tensors}};
}

std::string comparison_text(const Value& comparison) {
  std::string text = "A " + comparison["a"].get<std::string>() + "\nB " + comparison["b"].get<std::string>() + "\n";
  if (comparison["equal"].get<bool>()) return text + "equal: every value of the state and every bit of the tensors\n";
  for (const Value& value : comparison["values"]) {
    text += "  " + value["key"].get<std::string>() + ": A " + shown(value["a"]) + ", B " + shown(value["b"]) + "\n";
  }
  for (const Value& tensor : comparison["tensors"]) text += tensor_line(tensor);
  if (comparison["tensors"].empty()) text += "  all tensors are equal\n";
  return text;
}

}  // namespace stc::host
