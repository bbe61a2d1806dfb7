/// \file
/// Level stable: handles are opaque, LibTorch is reached by its C shims.
#pragma once

#include "stc/core/guard.hpp"
#include "stc/stable/tensor.hpp"

namespace stc::stable {

/// See model_table.hpp for what a level provides.
struct Level {
  static constexpr int kLevel = STC_LEVEL_STABLE;
  using Tensor = stable::Tensor;

  static Tensor from_borrowed(stc_tensor raw) { return Tensor::share(raw); }
  static stc_tensor borrow(const Tensor& tensor) { return tensor.get(); }
  static stc_tensor release(Tensor&& tensor) { return tensor.release(); }
  /// Two handles of one tensor cannot be told from two tensors over one memory here.
  static const void* identity(const Tensor& tensor) { return tensor.data(); }
  static int64_t rank(const Tensor& tensor) { return tensor.dim(); }
  /// The shims do not tell; a model says `trainable` in its parameters().
  static bool requires_grad(const Tensor&) { return true; }
};

}  // namespace stc::stable
