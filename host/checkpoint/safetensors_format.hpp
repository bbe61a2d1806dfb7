/// \file
/// What the reader and the writer of safetensors files share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stc::host {

inline constexpr const char* kMetadataKey = "__metadata__";
/// Bytes; the limit of the format's reference implementation.
inline constexpr uint64_t kLargestHeader = 100'000'000;

/// "[2, 3]", for messages.
inline std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

}  // namespace stc::host
