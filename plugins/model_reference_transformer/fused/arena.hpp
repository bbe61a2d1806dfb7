/// \file
/// One block of memory for all activations of a pass, planned before it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stc::reference_transformer::fused {

/// Page-aligned memory that stays between passes. Its pages are touched when it is made, so that no pass pays for that.
/// Not copied. [train-thread]
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// At least `bytes`; what it held is gone when it has to grow. \throws std::bad_alloc.
  void reserve(size_t bytes);
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void release();
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// Hands out pieces of a block one after the other, each at a multiple of 64 bytes. With a null block it only counts: a
/// plan runs once to learn its size and once to get its pointers.
class Planner {
 public:
  explicit Planner(char* block) : block_(block) {}
  template <class T = float>
  T* take(int64_t count) {
    T* piece = block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  size_t used() const { return used_; }

 private:
  char* block_;
  size_t used_ = 0;
};

}  // namespace stc::reference_transformer::fused
