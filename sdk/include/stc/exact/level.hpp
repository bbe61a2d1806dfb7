/// \file
/// Level exact: handles are LibTorch's own at::Tensor objects.
#pragma once

#include <ATen/core/Tensor.h>
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/version.h>
#endif

#include <new>
#include <utility>

#include "stc/core/guard.hpp"

/// The only LibTorch whose hosts load the plugin; the note says so.
#define STC_TORCH_VERSION TORCH_VERSION

namespace stc::exact {

/// See model_table.hpp for what a level provides.
struct Level {
  static constexpr int kLevel = STC_LEVEL_EXACT;
  using Tensor = at::Tensor;

  static const at::Tensor& from_borrowed(const stc_tensor& raw) { return *reinterpret_cast<const at::Tensor*>(raw); }
  /// Lives as long as the tensor object; null when it is undefined.
  static stc_tensor borrow(const at::Tensor& tensor) {
    return tensor.defined() ? reinterpret_cast<stc_tensor>(const_cast<at::Tensor*>(&tensor)) : nullptr;
  }
  static stc_tensor release(at::Tensor&& tensor) {
    return tensor.defined() ? reinterpret_cast<stc_tensor>(new at::Tensor(std::move(tensor))) : nullptr;
  }
  static const void* identity(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }
  static int64_t rank(const at::Tensor& tensor) { return tensor.dim(); }
  static bool requires_grad(const at::Tensor& tensor) { return tensor.requires_grad(); }
};

namespace detail {

/// what() of a c10::Error resolves a backtrace (10 ms); its own text does not.
inline stc_error* translate(const stc_host& host) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return stc::detail::new_error(host, STC_ERROR_OUT_OF_MEMORY, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    return stc::detail::new_error(host, STC_ERROR_TORCH, error.what_without_backtrace());
  } catch (...) {
    return nullptr;
  }
}
inline const bool translator_set = (stc::detail::translator = &translate, true);

}  // namespace detail
}  // namespace stc::exact
