/// \file
/// Tensors at level stable: a handle over LibTorch's C shims. Nothing here depends on LibTorch's C++.
#pragma once

/// The oldest LibTorch that the plugin runs on, major << 56 | minor << 48. A build may ask for a newer one.
#ifndef STC_TORCH_TARGET
#define STC_TORCH_TARGET ((2ULL << 56) | (10ULL << 48))
#endif
#ifndef TORCH_TARGET_VERSION
#define TORCH_TARGET_VERSION STC_TORCH_TARGET
#endif
#include <torch/csrc/stable/c/shim.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stc/abi/core.h"
#include "stc/core/fault.hpp"

/// Since LibTorch 2.13; null in an older one.
extern "C" __attribute__((weak)) const char* torch_exception_get_what_without_backtrace();

namespace stc::stable {

/// Throws Fault(STC_ERROR_TORCH) when a shim call failed. A failed call costs milliseconds.
inline void check(AOTITorchError code, const char* what) {
  if (code == AOTI_TORCH_SUCCESS) return;
  std::string message = what;
  if (torch_exception_get_what_without_backtrace != nullptr) {
    message += std::string(": ") + torch_exception_get_what_without_backtrace();
  } else {
    message += ": failed; LibTorch wrote the reason to standard error";
  }
  throw Fault(STC_ERROR_TORCH, message);
}

/// LibTorch's number of an STC_DTYPE_*. \throws Fault for a code that is none.
inline int32_t torch_dtype(int32_t dtype) {
  switch (dtype) {
    case STC_DTYPE_UINT8: return aoti_torch_dtype_uint8();
    case STC_DTYPE_INT8: return aoti_torch_dtype_int8();
    case STC_DTYPE_INT16: return aoti_torch_dtype_int16();
    case STC_DTYPE_INT32: return aoti_torch_dtype_int32();
    case STC_DTYPE_INT64: return aoti_torch_dtype_int64();
    case STC_DTYPE_FLOAT16: return aoti_torch_dtype_float16();
    case STC_DTYPE_BFLOAT16: return aoti_torch_dtype_bfloat16();
    case STC_DTYPE_FLOAT32: return aoti_torch_dtype_float32();
    case STC_DTYPE_FLOAT64: return aoti_torch_dtype_float64();
    case STC_DTYPE_BOOL: return aoti_torch_dtype_bool();
    case STC_DTYPE_UINT16: return aoti_torch_dtype_uint16();
    case STC_DTYPE_UINT32: return aoti_torch_dtype_uint32();
    default: throw Fault(STC_ERROR_INVALID_ARGUMENT, "dtype code " + std::to_string(dtype) + " is unknown");
  }
}

/// A tensor. Copies share the data, as copies of at::Tensor do, and cost 25 ns.
class Tensor {
 public:
  Tensor() = default;
  /// Takes over a handle that the caller owns.
  explicit Tensor(stc_tensor owned) : raw_(owned) {}
  /// Another owner of a borrowed handle's tensor.
  static Tensor share(stc_tensor borrowed) {
    Tensor out;
    if (borrowed != nullptr) check(aoti_torch_new_tensor_handle(borrowed, &out.raw_), "new_tensor_handle");
    return out;
  }
  /// Memory on the CPU, uninitialised.
  static Tensor empty(std::span<const int64_t> sizes, int32_t dtype = STC_DTYPE_FLOAT32) {
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * sizes[i - 1];
    Tensor out;
    check(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), torch_dtype(dtype),
                                   aoti_torch_device_type_cpu(), -1, &out.raw_),
          "empty_strided");
    return out;
  }
  static Tensor empty(std::initializer_list<int64_t> sizes, int32_t dtype = STC_DTYPE_FLOAT32) {
    return empty(std::span<const int64_t>(sizes.begin(), sizes.size()), dtype);
  }
  static Tensor zeros(std::initializer_list<int64_t> sizes, int32_t dtype = STC_DTYPE_FLOAT32) {
    Tensor out = empty(sizes, dtype);
    check(aoti_torch_zero_(out.raw_), "zero_");
    return out;
  }

  Tensor(const Tensor& other) : Tensor(share(other.raw_)) {}
  Tensor(Tensor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Tensor() {
    if (raw_ != nullptr) aoti_torch_delete_tensor_object(raw_);
  }

  bool defined() const { return raw_ != nullptr; }
  /// Borrowed: lives as long as this object.
  stc_tensor get() const { return raw_; }
  /// Passes the handle to the caller.
  stc_tensor release() { return std::exchange(raw_, nullptr); }

  int64_t dim() const {
    int64_t out = 0;
    check(aoti_torch_get_dim(raw_, &out), "get_dim");
    return out;
  }
  int64_t numel() const {
    int64_t out = 0;
    check(aoti_torch_get_numel(raw_, &out), "get_numel");
    return out;
  }
  /// Borrowed from the tensor.
  std::span<const int64_t> sizes() const {
    int64_t* out = nullptr;
    check(aoti_torch_get_sizes(raw_, &out), "get_sizes");
    return {out, static_cast<size_t>(dim())};
  }
  /// Of the first element, on the tensor's device.
  void* data() const {
    void* out = nullptr;
    check(aoti_torch_get_data_ptr(raw_, &out), "get_data_ptr");
    return out;
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }
  /// Leaves only.
  const Tensor& requires_grad(bool on = true) const {
    check(torch_set_requires_grad(raw_, on), "set_requires_grad");
    return *this;
  }

 private:
  stc_tensor raw_ = nullptr;
};

/// Operators called while it lives record no gradients.
class NoGradGuard {
 public:
  NoGradGuard() : before_(aoti_torch_grad_mode_is_enabled()) { aoti_torch_grad_mode_set_enabled(false); }
  ~NoGradGuard() { aoti_torch_grad_mode_set_enabled(before_); }
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool before_;
};

}  // namespace stc::stable
