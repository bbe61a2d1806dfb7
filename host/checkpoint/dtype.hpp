/// \file
/// The dtypes of stc (stc/core/dtype.hpp) and their names in safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stc::host {

/// "F32" for STC_DTYPE_FLOAT32; null for an unknown code.
const char* safetensors_dtype_name(int dtype);

/// The code of "F32"; nullopt for a name that stc does not have.
std::optional<int> safetensors_dtype(std::string_view name);

/// All names, comma-separated, for messages.
std::string safetensors_dtype_names();

/// Product of the sizes times the element size; nullopt when it is negative or does not fit 64
/// bits.
std::optional<uint64_t> dense_bytes(int dtype, const std::vector<int64_t>& shape);

}  // namespace stc::host
