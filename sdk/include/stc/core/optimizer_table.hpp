/// \file
/// From a C++ optimizer class to the C table stc_optimizer_api, for the levels stable and exact. Authors
/// include stc/stable/optimizer.hpp or stc/exact/optimizer.hpp instead.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "stc/abi/optimizer.h"
#include "stc/core/instance.hpp"
#include "stc/core/optimizer_types.hpp"
#include "stc/core/tensor_state.hpp"

namespace stc {

/// The slots of stc_optimizer_api for optimizer class O; each optional member is found by presence.
template <class O, class L>
struct OptimizerSlots : detail::Slots<O, stc_optimizer> {
  using Base = detail::Slots<O, stc_optimizer>;
  using Parameter = BasicBoundParameter<typename L::Tensor>;
  using Gradients = BasicGradients<L>;
  using Writer = BasicStateWriter<L>;
  using Reader = BasicStateReader<L>;

  static constexpr bool kSetMode = requires(O & o) { o.set_mode(int32_t{}); };
  static constexpr bool kSetGroup = requires(O & o, const Group& g) { o.set_group(uint32_t{}, g); };
  static constexpr bool kSetCautious = requires(O & o) { o.set_cautious(true); };
  static constexpr bool kAlgorithm = requires(const O& o) {
    { o.algorithm(uint32_t{}) } -> std::convertible_to<const char*>;
  };
  static constexpr bool kExtension = requires(O & o, const char* id) {
    { o.extension(id) } -> std::convertible_to<const void*>;
  };
  static_assert(
      requires(O & o, const std::vector<Parameter>& p, const std::vector<Group>& g) { o.bind(p, g); },
      "an optimizer needs bind(const std::vector<BoundParameter>&, const std::vector<Group>&)");
  static_assert(
      requires(O & o, const Step& s, const Gradients& g) { o.step(s, g); },
      "an optimizer needs step(const Step&, const Gradients&)");
  static_assert(
      requires(O & o, Writer& w, Reader& r) {
        o.save(w);
        o.load(r);
      },
      "an optimizer needs save(StateWriter&) and load(StateReader&)");
  static_assert(
      requires(O & o) { o.reset(); }, "an optimizer needs reset()");

  /// Entry i of an array whose entries have the caller's size.
  template <class T>
  static T entry(const T* items, uint32_t stride, uint32_t i) {
    T out{};
    std::memcpy(&out, reinterpret_cast<const char*>(items) + size_t{stride} * i, std::min<size_t>(stride, sizeof(T)));
    return out;
  }

  static stc_error* bind(stc_optimizer* self, const stc_bound_parameter* parameters, uint32_t num_parameters,
                         uint32_t parameter_stride, const stc_group* groups, uint32_t num_groups,
                         uint32_t group_stride) noexcept {
    return Base::call(self, [&](O& object) {
      std::vector<Parameter> bound;
      bound.reserve(num_parameters);
      for (uint32_t i = 0; i < num_parameters; ++i) {
        const stc_bound_parameter item = entry(parameters, parameter_stride, i);
        bound.push_back({item.name, L::from_borrowed(item.tensor), item.role, item.group});
      }
      std::vector<Group> all;
      for (uint32_t i = 0; i < num_groups; ++i) {
        const stc_group item = entry(groups, group_stride, i);
        all.push_back({item.lr_scale, item.weight_decay});
      }
      object.bind(bound, all);
    });
  }
  static stc_error* step(stc_optimizer* self, const stc_step_info* info, const stc_tensor* gradients,
                         uint32_t n) noexcept {
    return Base::call(self, [&](O& object) { object.step(Step(detail::imported(info)), Gradients(gradients, n)); });
  }
  static stc_error* state_save(stc_optimizer* self, const stc_state_writer* writer) noexcept {
    return Base::call(self, [&](O& object) {
      Writer view(Base::box(self).host(), *writer);
      object.save(view);
    });
  }
  static stc_error* state_load(stc_optimizer* self, const stc_state_reader* reader) noexcept {
    return Base::call(self, [&](O& object) {
      Reader view(Base::box(self).host(), *reader);
      object.load(view);
    });
  }
  static void reset(stc_optimizer* self) noexcept {
    Base::call_void(self, "reset", [](O& object) { object.reset(); });
  }
  static void set_mode(stc_optimizer* self, int32_t mode) noexcept {
    Base::call_void(self, "set_mode", [&](O& object) { object.set_mode(mode); });
  }
  static stc_error* set_group(stc_optimizer* self, uint32_t index, const stc_group* group) noexcept {
    return Base::call(self, [&](O& object) {
      const stc_group item = detail::imported(group);
      object.set_group(index, Group{item.lr_scale, item.weight_decay});
    });
  }
  static stc_error* set_cautious(stc_optimizer* self, int32_t enabled) noexcept {
    return Base::call(self, [&](O& object) { object.set_cautious(enabled != 0); });
  }
  static const char* algorithm(stc_optimizer* self, uint32_t index) noexcept {
    return Base::template call_value<const char*>(self, "algorithm", nullptr,
                                                  [&](const O& object) { return object.algorithm(index); });
  }
  static const void* get_extension(stc_optimizer* self, const char* id) noexcept {
    if constexpr (kSetCautious) {
      static constexpr stc_optimizer_cautious kCautious{STC_SIZE_TO_END(stc_optimizer_cautious, set_cautious), 0,
                                                        &set_cautious};
      if (std::strcmp(id, STC_OPTIMIZER_CAUTIOUS) == 0) return &kCautious;
    }
    if constexpr (kAlgorithm) {
      static constexpr stc_optimizer_routing kRouting{STC_SIZE_TO_END(stc_optimizer_routing, algorithm), 0, &algorithm};
      if (std::strcmp(id, STC_OPTIMIZER_ROUTING) == 0) return &kRouting;
    }
    if constexpr (kExtension) {
      return Base::template call_value<const void*>(self, "get_extension", nullptr,
                                                    [&](O& object) { return object.extension(id); });
    } else {
      return nullptr;
    }
  }

  static constexpr stc_optimizer_api make() {
    stc_optimizer_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_optimizer_api, get_extension);
    api.create = &Base::create;
    api.destroy = &Base::destroy;
    api.bind = &bind;
    api.step = &step;
    api.state_save = &state_save;
    api.state_load = &state_load;
    api.reset = &reset;
    if constexpr (kSetMode) api.set_mode = &set_mode;
    if constexpr (kSetGroup) api.set_group = &set_group;
    if constexpr (kSetCautious || kAlgorithm || kExtension) api.get_extension = &get_extension;
    return api;
  }
  static constexpr stc_optimizer_api kTable = make();
};

}  // namespace stc
