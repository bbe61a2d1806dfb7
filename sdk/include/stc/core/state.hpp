/// \file
/// The part of a checkpoint that belongs to one plugin.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stc/core/host.hpp"

namespace stc {

/// Receives state; everything is copied before a call returns. Names are unique within the plugin.
class StateWriter {
 public:
  StateWriter(Host host, const stc_state_writer& raw) : host_(host), raw_(detail::imported(&raw)) {}

  void tensor(const char* name, stc_tensor tensor) const { host_.check(raw_.tensor(raw_.ctx, name, tensor)); }
  void buffer(const char* name, const stc_buffer& buffer) const { host_.check(raw_.buffer(raw_.ctx, name, &buffer)); }
  void bytes(const char* name, std::string_view bytes) const {
    host_.check(raw_.bytes(raw_.ctx, name, bytes.data(), bytes.size()));
  }
  /// A one-dimensional array.
  template <class T>
  void array(const char* name, std::span<const T> values) const {
    static_assert(dtype_of<T> != 0, "an array holds a type that has an STC_DTYPE code");
    const int64_t size = static_cast<int64_t>(values.size());
    buffer(name, {const_cast<T*>(values.data()), values.size_bytes(), dtype_of<T>, 1, &size});
  }
  /// A 0-d number.
  template <class T>
  requires std::is_arithmetic_v<T>
  void number(const char* name, T value) const {
    static_assert(dtype_of<T> != 0, "a number has a type that has an STC_DTYPE code");
    buffer(name, {&value, sizeof value, dtype_of<T>, 0, nullptr});
  }

 private:
  Host host_;
  stc_state_writer raw_;
};

/// Gives state back. What it returns is borrowed until load returns.
class StateReader {
 public:
  StateReader(Host host, const stc_state_reader& raw) : host_(host), raw_(detail::imported(&raw)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names(raw_.count(raw_.ctx));
    for (uint64_t i = 0; i < names.size(); ++i) {
      names[i] = raw_.name(raw_.ctx, i);
    }
    return names;
  }
  /// Null when absent.
  stc_tensor tensor(const char* name) const {
    stc_tensor tensor = nullptr;
    host_.check(raw_.tensor(raw_.ctx, name, &tensor));
    return tensor;
  }
  /// Data is null when absent.
  stc_buffer buffer(const char* name) const {
    stc_buffer buffer{};
    host_.check(raw_.buffer(raw_.ctx, name, &buffer));
    return buffer;
  }
  std::optional<std::string_view> bytes(const char* name) const {
    const void* data = nullptr;
    uint64_t size = 0;
    host_.check(raw_.bytes(raw_.ctx, name, &data, &size));
    if (data == nullptr) {
      return std::nullopt;
    }
    return std::string_view(static_cast<const char*>(data), size);
  }
  /// Nothing when absent; Fault(INVALID_ARGUMENT) when it is of another type or not
  /// one-dimensional.
  template <class T>
  std::optional<std::vector<T>> array(const char* name) const {
    const stc_buffer raw = buffer(name);
    if (raw.data == nullptr) {
      return std::nullopt;
    }
    expect<T>(name, raw, 1);
    std::vector<T> values(raw.bytes / sizeof(T));
    std::memcpy(values.data(), raw.data, values.size() * sizeof(T));
    return values;
  }
  template <class T>
  requires std::is_arithmetic_v<T> std::optional<T> number(const char* name)
  const {
    const stc_buffer raw = buffer(name);
    if (raw.data == nullptr) {
      return std::nullopt;
    }
    expect<T>(name, raw, 0);
    T value;
    std::memcpy(&value, raw.data, sizeof value);
    return value;
  }

 private:
  template <class T>
  static void expect(const char* name, const stc_buffer& raw, int32_t ndim) {
    if (raw.dtype != dtype_of<T> || raw.ndim != ndim || (ndim == 0 && raw.bytes != sizeof(T))) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, std::string("state ") + name + ": got " + dtype_name(raw.dtype) + " of " +
                                                  std::to_string(raw.ndim) + " dimensions, expected " +
                                                  dtype_name(dtype_of<T>) + " of " + std::to_string(ndim));
    }
  }

  Host host_;
  stc_state_reader raw_;
};

}  // namespace stc
