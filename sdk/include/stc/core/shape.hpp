/// \file
/// Shapes in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stc {

/// "(4,129)"; "()" for a scalar.
inline std::string shape_text(const int64_t* sizes, std::size_t rank) {
  std::string text = "(";
  for (std::size_t i = 0; i < rank; ++i) {
    if (i > 0) text += ',';
    text += std::to_string(sizes[i]);
  }
  return text + ")";
}

/// Of anything with data() and size(): a vector, a LibTorch IntArrayRef.
template <class Sizes>
std::string shape_text(const Sizes& sizes) {
  return shape_text(sizes.data(), sizes.size());
}

}  // namespace stc
