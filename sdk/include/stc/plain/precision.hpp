/// \file
/// Precision in C++: in which type the forward computes, and the loss scale. [train-thread]
///
///   struct Fp32 {
///     stc::PrecisionPlan resolve(const stc::DeviceInfo& device, std::string_view request);
///     // optional, for a scaler
///     double scale() const;                   // > 0
///     void update(bool found_inf);            // after each attempted update
///     void save(stc::StateWriter& state) const;
///     void load(const stc::StateReader& state);
///   };
///   STC_PRECISION_PLUGIN(Fp32, "fp32", "1.0.0", "everything in float32")
#pragma once

#include <string>
#include <string_view>

#include "stc/abi/precision.h"
#include "stc/plugin.hpp"

namespace stc {

/// What resolve decides.
struct PrecisionPlan {
  int32_t compute_dtype = STC_DTYPE_FLOAT32;
  bool autocast = false;  // the host runs the forward under autocast
  bool scaler = false;    // the host multiplies the loss by scale() and reports overflow
  std::string warning;    // one line for the log; empty: none
};

namespace detail {

/// Text handed out by resolve, valid until its next call.
struct PrecisionExtra {
  std::string warning;
};

template <class T>
struct PrecisionSlots : Slots<T, stc_precision, PrecisionExtra> {
  using Base = Slots<T, stc_precision, PrecisionExtra>;
  static_assert(
      requires(T & t, const DeviceInfo& device, std::string_view request) {
        { t.resolve(device, request) } -> std::convertible_to<PrecisionPlan>;
      },
      "a precision has stc::PrecisionPlan resolve(const stc::DeviceInfo&, std::string_view)");

  static stc_error* resolve(stc_precision* self, const stc_device_info* device, const char* request,
                            stc_precision_plan* out) noexcept {
    return Base::call(self, [&](T& precision) {
      const PrecisionPlan plan = precision.resolve(DeviceInfo::from(imported(device)),
                                                   std::string_view(request == nullptr ? "auto" : request));
      std::string& warning = Base::box(self).extra.warning;
      warning = plan.warning;
      stc_precision_plan raw{};
      raw.compute_dtype = plan.compute_dtype;
      raw.autocast = plan.autocast ? 1 : 0;
      raw.scaler = plan.scaler ? 1 : 0;
      raw.warning = warning.empty() ? nullptr : warning.c_str();
      export_to(out, raw);
    });
  }
  static double scale(stc_precision* self) noexcept {
    return Base::template call_value<double>(self, "scale", 1.0, [](T& precision) {
      if constexpr (requires { precision.scale(); }) {
        return static_cast<double>(precision.scale());
      } else {
        return 1.0;
      }
    });
  }
  static void update(stc_precision* self, int32_t found_inf) noexcept {
    Base::call_void(self, "update", [&](T& precision) {
      if constexpr (requires { precision.update(true); }) {
        precision.update(found_inf != 0);
      }
    });
  }
};

template <class T>
const stc_precision_api* precision_table() {
  using S = PrecisionSlots<T>;
  static const stc_precision_api table = [] {
    stc_precision_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_precision_api, state_load);
    api.create = &S::create;
    api.destroy = &S::destroy;
    api.resolve = &S::resolve;
    api.scale = &S::scale;
    api.update = &S::update;
    fill_state_slots<S, T>(api);
    return api;
  }();
  return &table;
}

}  // namespace detail
}  // namespace stc

#define STC_DEFINE_PRECISION(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_PRECISION, ::stc::detail::precision_table<Type>(), Type, name, version, doc)
#define STC_PRECISION_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_PRECISION(Type, name, version, doc);      \
  STC_PLUGIN_LIBRARY(plain, Type)
