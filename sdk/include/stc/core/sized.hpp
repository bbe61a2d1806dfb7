/// \file
/// Reading a struct of the other side by its size: members that it does not have are zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stc::detail {

/// A copy of *from with min(theirs, ours) bytes taken; all zero when from is null.
template <class T>
T imported(const T* from) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T to;
  std::memset(&to, 0, sizeof(T));
  if (from != nullptr) {
    std::memcpy(&to, from, std::min<std::size_t>(from->struct_size, sizeof(T)));
  }
  return to;
}

/// Writes a result into the caller's struct of from->struct_size bytes, which stays as it is.
template <class T>
void export_to(T* to, const T& from) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  const uint32_t size = to->struct_size == 0 ? static_cast<uint32_t>(sizeof(T)) : to->struct_size;
  std::memcpy(to, &from, std::min<std::size_t>(size, sizeof(T)));
  to->struct_size = size;
}

}  // namespace stc::detail
