/// \file
/// Short notation for the table of keys; included by its parts only.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/config/keys.hpp"

namespace stc::host {

/// One row: `Key("lr", kFloat, "0.0003", "base learning rate").above(0)`.
class Key {
 public:
  Key(const char* name, int type, const char* default_text, const char* doc) {
    key_.param.name = name;
    key_.param.type = type;
    key_.param.doc = doc;
    if (default_text != nullptr) {
      key_.param.default_text = default_text;
    } else {
      key_.param.flags |= STC_PARAM_NULLABLE;
    }
  }
  Key& nullable() { return flag(STC_PARAM_NULLABLE); }
  Key& secret() { return flag(STC_PARAM_SECRET); }
  Key& above(double min) { return flag(STC_PARAM_MIN_EXCLUSIVE).at_least(min); }
  Key& at_least(double min) {
    key_.param.min = min;
    return flag(STC_PARAM_HAS_MIN);
  }
  Key& below(double max) { return flag(STC_PARAM_MAX_EXCLUSIVE).at_most(max); }
  Key& at_most(double max) {
    key_.param.max = max;
    return flag(STC_PARAM_HAS_MAX);
  }
  /// A count that ends up in 32-bit sizes somewhere.
  Key& count() { return at_least(1).at_most(std::numeric_limits<int32_t>::max()); }
  Key& words(std::vector<std::string> values) {
    key_.param.enum_values = std::move(values);
    return *this;
  }
  /// The typed sub-keys of a mapping.
  Key& parts(const std::vector<Key>& keys) {
    for (const Key& key : keys) {
      key_.parts.push_back(key.key_.param);
      key_.param.enum_values.push_back(key.key_.param.name);
    }
    return *this;
  }
  /// A part without which the mapping says nothing.
  Key& required() {
    key_.param.flags = (key_.param.flags & ~unsigned{STC_PARAM_NULLABLE}) | STC_PARAM_REQUIRED;
    return *this;
  }
  Key& form(HostKey::Form form) {
    key_.form = form;
    return *this;
  }
  Key& lower() {
    key_.fold = HostKey::Fold::kLower;
    return *this;
  }
  Key& upper() {
    key_.fold = HostKey::Fold::kUpper;
    return *this;
  }
  /// The host itself reads it, in a section that plugins share.
  Key& read_by_host() {
    key_.host_reads = true;
    return *this;
  }
  Key& later() {
    key_.later = HostKey::Later::kAllButDefault;
    return *this;
  }
  Key& later_values(std::vector<std::string> values) {
    key_.later = HostKey::Later::kEnumeratedValues;
    key_.later_values = std::move(values);
    return *this;
  }
  HostKey build(const char* section, bool in_2_0_0) const {
    HostKey key = key_;
    key.section = section;
    key.in_2_0_0 = in_2_0_0;
    return key;
  }

 private:
  Key& flag(unsigned bit) {
    key_.param.flags |= bit;
    return *this;
  }
  HostKey key_;
};

/// Types by short names.
namespace key_types {
constexpr int kInt = STC_PARAM_INT;
constexpr int kFloat = STC_PARAM_FLOAT;
constexpr int kBool = STC_PARAM_BOOL;
constexpr int kString = STC_PARAM_STRING;
constexpr int kEnum = STC_PARAM_ENUM;
constexpr int kFloats = STC_PARAM_FLOAT_LIST;
constexpr int kStrings = STC_PARAM_STRING_LIST;
constexpr int kPath = STC_PARAM_PATH;
constexpr int kObject = STC_PARAM_OBJECT;
constexpr const char* kNull = nullptr;
}  // namespace key_types

}  // namespace stc::host
