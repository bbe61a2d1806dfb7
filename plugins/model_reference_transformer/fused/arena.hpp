/// \file
/// One block of memory for all activations of a pass, kept between passes.
#pragma once

#include <cstddef>

namespace stc::reference_transformer {

/// Aligned to 2 MB, in huge pages where the system has them, touched before use: first-touch faults in the
/// middle of a pass cost seconds on large models. [train-thread]
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// At least `bytes`, 64-byte aligned. Grows only; what it held is lost when it does.
  /// \throws std::bad_alloc
  float* reserve(size_t bytes);
  size_t size() const { return size_; }

 private:
  void release();

  void* mapped_ = nullptr;
  size_t mapped_size_ = 0;
  float* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace stc::reference_transformer
