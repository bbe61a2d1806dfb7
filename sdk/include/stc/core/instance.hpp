/// \file
/// What the opaque pointer of a kind (stc_sink*, stc_model* ...) points to in the C++ layer, and
/// the slots that every kind has.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "stc/core/guard.hpp"
#include "stc/core/host.hpp"
#include "stc/core/params.hpp"
#include "stc/core/state.hpp"

namespace stc::detail {

template <class>
inline constexpr bool always_false = false;

/// Constructor forms, in this order: (params, host, config), (params, host), (params), (host), ().
template <class T, class Params>
T construct(const Params& params, const Host& host, const stc_config* config) {
  if constexpr (std::is_constructible_v<T, const Params&, Host, Config>) {
    return T(params, host, Config(host, config));
  } else if constexpr (std::is_constructible_v<T, const Params&, Host>) {
    return T(params, host);
  } else if constexpr (std::is_constructible_v<T, const Params&>) {
    return T(params);
  } else if constexpr (std::is_constructible_v<T, Host>) {
    return T(host);
  } else if constexpr (std::is_default_constructible_v<T>) {
    return T();
  } else {
    static_assert(always_false<T>,
                  "a plugin is constructed from (const Params&, stc::Host), (const Params&), "
                  "(stc::Host) or ()");
  }
}

/// Nothing, unless a kind keeps something beside the author's object.
struct NoExtra {};

/// The author's object with the host table it was created with. The table outlives the object.
template <class T, class Extra = NoExtra>
struct Box {
  stc_host table;
  T object;
  [[no_unique_address]] Extra extra;

  Box(const stc_host* host, const stc_config* config)
      : table(imported(host)),
        object(construct<T>(read_params<typename ParamsOf<T>::type>(Host(table), config), Host(table), config)),
        extra() {}
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  Host host() const { return Host(table); }
};

/// The slots create, destroy, state_save and state_load of a kind whose opaque type is Opaque, and
/// the way into all others.
template <class T, class Opaque, class Extra = NoExtra>
struct Slots {
  using BoxType = Box<T, Extra>;

  static BoxType& box(Opaque* self) noexcept { return *reinterpret_cast<BoxType*>(self); }

  static stc_error* create(const stc_host* host, const stc_config* config, Opaque** out) noexcept {
    const stc_host table = imported(host);
    return guarded(table, [&] { *out = reinterpret_cast<Opaque*>(new BoxType(host, config)); });
  }
  static void destroy(Opaque* self) noexcept {
    if (self != nullptr) {
      const stc_host table = box(self).table;
      guarded_void(table, "destroy", [&] { delete &box(self); });
    }
  }

  /// fn(object)
  template <class Fn>
  static stc_error* call(Opaque* self, Fn&& fn) noexcept {
    BoxType& b = box(self);
    return guarded(b.table, [&] { std::forward<Fn>(fn)(b.object); });
  }
  template <class Fn>
  static void call_void(Opaque* self, const char* slot, Fn&& fn) noexcept {
    BoxType& b = box(self);
    guarded_void(b.table, slot, [&] { std::forward<Fn>(fn)(b.object); });
  }
  template <class Result, class Fn>
  static Result call_value(Opaque* self, const char* slot, Result otherwise, Fn&& fn) noexcept {
    BoxType& b = box(self);
    return guarded_value<Result>(b.table, slot, otherwise, [&] { return std::forward<Fn>(fn)(b.object); });
  }

  static stc_error* state_save(Opaque* self, const stc_state_writer* writer) noexcept {
    return call(self, [&](T& object) {
      StateWriter view(box(self).host(), *writer);
      object.save(view);
    });
  }
  static stc_error* state_load(Opaque* self, const stc_state_reader* reader) noexcept {
    return call(self, [&](T& object) {
      StateReader view(box(self).host(), *reader);
      object.load(view);
    });
  }
};

/// Members `void save(stc::StateWriter&)` and `void load(stc::StateReader&)`; a plugin has both or
/// none.
template <class T>
concept HasSave = requires(T& object, StateWriter& writer) {
  object.save(writer);
};
template <class T>
concept HasLoad = requires(T& object, StateReader& reader) {
  object.load(reader);
};

/// Fills the two optional state slots of a table.
template <class SlotsType, class T, class Table>
void fill_state_slots(Table& table) {
  static_assert(HasSave<T> == HasLoad<T>,
                "a plugin has both save(stc::StateWriter&) and load(stc::StateReader&), or neither");
  if constexpr (HasSave<T>) {
    table.state_save = &SlotsType::state_save;
    table.state_load = &SlotsType::state_load;
  }
}

}  // namespace stc::detail
