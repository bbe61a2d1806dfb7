/// \file
/// Sinks in C++: where events and metrics go.
///
///   struct Csv {
///     struct Params { ... };
///     Csv(const Params& params, stc::Host host);
///     void open(const stc::RunInfo& run);       // optional
///     void event(const stc::EventView& event);
///     void flush();                             // optional
///     void close();                             // optional
///   };
///   STC_SINK_PLUGIN(Csv, "csv", "1.0.0", "metrics as comma-separated values")
///
/// All members are called from one queue thread, in the order open, (event | flush)*, close.
#pragma once

#include <optional>
#include <string_view>

#include "stc/abi/sink.h"
#include "stc/plugin.hpp"

namespace stc {

/// The run that a sink is opened for. Text is NUL-terminated and lives until open returns.
class RunInfo {
 public:
  explicit RunInfo(const stc_run_info* raw) : raw_(detail::imported(raw)) {}
  std::string_view run_id() const { return text(raw_.run_id); }
  std::string_view run_name() const { return text(raw_.run_name); }
  std::string_view run_dir() const { return text(raw_.run_dir); }
  /// The resolved configuration as JSON, secrets redacted.
  std::string_view config_json() const { return text(raw_.config_json); }
  uint64_t start_step() const { return raw_.start_step; }
  /// Files of earlier parts of the run are continued, not replaced.
  bool resumed() const { return raw_.start_step > 0; }

 private:
  static std::string_view text(const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text);
  }
  stc_run_info raw_;
};

/// One record. Everything in it is borrowed until event returns.
class EventView {
 public:
  struct Field {
    std::string_view name;  // NUL-terminated
    Value value;
  };
  class Iterator {
   public:
    using value_type = Field;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const stc_field* at) : at_(at) {}
    Field operator*() const { return {at_->name, Value(at_->value)}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    const stc_field* at_ = nullptr;
  };

  explicit EventView(const stc_event* raw) : raw_(detail::imported(raw)) {}
  std::string_view name() const { return raw_.name; }
  /// Seconds since 1970-01-01 UTC.
  double unix_time_s() const { return raw_.unix_time_s; }
  /// Fields in the order in which they are to be written.
  uint64_t size() const { return raw_.num_fields; }
  Field operator[](uint64_t index) const { return *Iterator(raw_.fields + index); }
  Iterator begin() const { return Iterator(raw_.fields); }
  Iterator end() const { return Iterator(raw_.fields + raw_.num_fields); }
  /// Nothing when the event has no such field.
  std::optional<Value> find(std::string_view name) const {
    for (const Field& field : *this) {
      if (field.name == name) {
        return field.value;
      }
    }
    return std::nullopt;
  }

 private:
  stc_event raw_;
};

namespace detail {

template <class T>
struct SinkSlots : Slots<T, stc_sink> {
  using Base = Slots<T, stc_sink>;
  static_assert(
      requires(T & sink, const EventView& event) { sink.event(event); },
      "a sink has a member void event(const stc::EventView&)");

  static stc_error* open(stc_sink* self, const stc_run_info* run) noexcept {
    return Base::call(self, [&](T& sink) {
      if constexpr (requires(const RunInfo& info) { sink.open(info); }) {
        sink.open(RunInfo(run));
      } else if constexpr (requires { sink.open(); }) {
        sink.open();
      }
    });
  }
  static stc_error* event(stc_sink* self, const stc_event* event) noexcept {
    return Base::call(self, [&](T& sink) { sink.event(EventView(event)); });
  }
  static stc_error* flush(stc_sink* self) noexcept {
    return Base::call(self, [](T& sink) {
      if constexpr (requires { sink.flush(); }) {
        sink.flush();
      }
    });
  }
  static void close(stc_sink* self) noexcept {
    Base::call_void(self, "close", [](T& sink) {
      if constexpr (requires { sink.close(); }) {
        sink.close();
      }
    });
  }
};

template <class T>
const stc_sink_api* sink_table() {
  using S = SinkSlots<T>;
  static const stc_sink_api table = [] {
    stc_sink_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_sink_api, close);
    api.create = &S::create;
    api.destroy = &S::destroy;
    api.open = &S::open;
    api.event = &S::event;
    api.flush = &S::flush;
    api.close = &S::close;
    return api;
  }();
  return &table;
}

}  // namespace detail
}  // namespace stc

#define STC_DEFINE_SINK(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_SINK, ::stc::detail::sink_table<Type>(), Type, name, version, doc)
#define STC_SINK_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_SINK(Type, name, version, doc);      \
  STC_PLUGIN_LIBRARY(plain, Type)
