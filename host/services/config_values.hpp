/// \file
/// The config_* services: a stc_config is a nlohmann value of the resolved configuration.
#pragma once

#include "stc/abi/core.h"

#include "host/config/config.hpp"

namespace stc::host {

inline const stc_config* as_config(const Value& value) { return reinterpret_cast<const stc_config*>(&value); }
inline const Value& as_value(const stc_config* config) { return *reinterpret_cast<const Value*>(config); }

/// Fills *out with a view of `value`; strings, lists and objects are borrowed.
/// \returns INVALID_CONFIG for an integer that int64 does not hold; key names it in the message.
stc_error* view_value(const Value& value, const char* key, stc_value* out);

stc_error* config_get(void* ctx, const stc_config* config, const char* key, stc_value* out) noexcept;
uint64_t config_size(void* ctx, const stc_config* config) noexcept;
stc_error* config_at(void* ctx, const stc_config* config, uint64_t index, const char** out_key,
                     stc_value* out) noexcept;

}  // namespace stc::host
