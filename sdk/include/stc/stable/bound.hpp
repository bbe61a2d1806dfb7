/// \file
/// What an optimizer at level stable knows of a bound parameter, and the checks that all need. Messages
/// name the parameter; the code is INVALID_ARGUMENT.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "stc/core/dtype.hpp"
#include "stc/core/shape.hpp"
#include "stc/stable/optimizer.hpp"

namespace stc::stable {

[[noreturn]] inline void refuse(const std::string& parameter, const std::string& what) {
  throw Fault(STC_ERROR_INVALID_ARGUMENT, "parameter " + parameter + ": " + what);
}

/// A parameter as it was bound. Optimizers derive their own record of it.
struct BoundInfo {
  std::string name;
  Tensor tensor;
  uint32_t group = 0;
  int32_t dtype = 0;  // STC_DTYPE_*, a floating-point one
  bool on_host = true;
  int32_t device_type = STC_DEVICE_CPU;
  int32_t device_index = -1;
  std::vector<int64_t> sizes;
  int64_t numel = 0;
  void* data = nullptr;

  /// Of state and arithmetic: fp64 stays, all else is fp32.
  bool is_double() const { return dtype == STC_DTYPE_FLOAT64; }
  int32_t state_dtype() const { return is_double() ? STC_DTYPE_FLOAT64 : STC_DTYPE_FLOAT32; }
  size_t state_size() const { return is_double() ? sizeof(double) : sizeof(float); }
};

/// tensor_info; sparse and complex tensors are refused.
inline stc_tensor_info info_of(const Host& host, stc_tensor tensor, const std::string& name,
                               const std::string& what = "") {
  try {
    return tensor_info(host, tensor);
  } catch (const Fault& fault) {
    refuse(name, what + fault.what());
  }
}

/// \throws Fault for a parameter that is not of floating point, is in no group, or is on the CPU and not
/// contiguous.
inline BoundInfo describe(const Host& host, const BoundParameter& parameter, size_t num_groups) {
  const stc_tensor_info info = info_of(host, parameter.tensor.get(), parameter.name);
  BoundInfo bound;
  bound.name = parameter.name;
  bound.tensor = parameter.tensor;
  bound.group = parameter.group;
  if (bound.group >= num_groups) {
    refuse(bound.name, "is in group " + std::to_string(bound.group) + " of " + std::to_string(num_groups));
  }
  bound.dtype = info.dtype;
  if (info.dtype != STC_DTYPE_FLOAT32 && info.dtype != STC_DTYPE_FLOAT64 && info.dtype != STC_DTYPE_FLOAT16 &&
      info.dtype != STC_DTYPE_BFLOAT16) {
    refuse(bound.name, std::string("got dtype ") + dtype_name(info.dtype) + ", expected a floating-point one");
  }
  bound.on_host = info.device_type == STC_DEVICE_CPU;
  bound.device_type = info.device_type;
  bound.device_index = info.device_index;
  bound.sizes.assign(info.sizes, info.sizes + info.ndim);
  bound.numel = 1;
  for (const int64_t size : bound.sizes) bound.numel *= size;
  bound.data = info.data;
  if (bound.on_host && info.is_contiguous == 0) {
    refuse(bound.name, "is not contiguous; make it so before it becomes a parameter");
  }
  return bound;
}

/// Two parameters over one memory would be updated twice, and by two threads at once.
/// \param bounds of a type derived from BoundInfo.
template <class B>
void refuse_shared_memory(const std::vector<B>& bounds) {
  std::vector<const BoundInfo*> order;
  for (const BoundInfo& bound : bounds) {
    if (bound.on_host && bound.numel > 0) order.push_back(&bound);
  }
  std::sort(order.begin(), order.end(), [](const BoundInfo* a, const BoundInfo* b) { return a->data < b->data; });
  for (size_t i = 1; i < order.size(); ++i) {
    const BoundInfo& a = *order[i - 1];
    const auto* end = static_cast<const char*>(a.data) + a.numel * static_cast<int64_t>(dtype_size(a.dtype));
    if (order[i]->data < end) refuse(order[i]->name, "shares memory with " + a.name + "; bind a tied tensor once");
  }
}

/// Type, shape and device of a gradient are those of its parameter.
inline stc_tensor_info check_gradient(const Host& host, stc_tensor gradient, const BoundInfo& bound) {
  const stc_tensor_info info = info_of(host, gradient, bound.name, "gradient: ");
  if (info.dtype != bound.dtype) {
    refuse(bound.name,
           std::string("gradient has dtype ") + dtype_name(info.dtype) + ", expected " + dtype_name(bound.dtype));
  }
  const bool same_shape = static_cast<size_t>(info.ndim) == bound.sizes.size() &&
                          std::equal(bound.sizes.begin(), bound.sizes.end(), info.sizes);
  if (!same_shape) {
    refuse(bound.name, "gradient has shape " + shape_text(info.sizes, static_cast<size_t>(info.ndim)) + ", expected " +
                           shape_text(bound.sizes));
  }
  if (info.device_type != bound.device_type || info.device_index != bound.device_index) {
    refuse(bound.name, "gradient is on another device than the parameter");
  }
  return info;
}

inline void check_count(const Gradients& gradients, size_t bound) {
  if (gradients.size() == bound) return;
  throw Fault(STC_ERROR_INVALID_ARGUMENT,
              "step: got " + std::to_string(gradients.size()) + " gradients, expected " + std::to_string(bound));
}

inline void check_group(uint32_t index, size_t num_groups) {
  if (index < num_groups) return;
  throw Fault(STC_ERROR_INVALID_ARGUMENT, "set_group: got index " + std::to_string(index) + ", there are " +
                                              std::to_string(num_groups) + " groups");
}

/// The one number of a 0-d tensor on the CPU, such as Step::found_inf.
inline double read_scalar(const Host& host, stc_tensor tensor, const char* what) {
  const stc_tensor_info info = tensor_info(host, tensor);
  if (info.device_type != STC_DEVICE_CPU || info.dtype != STC_DTYPE_FLOAT32) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT,
                std::string(what) + ": expected a 0-d float32 tensor on the parameters' device");
  }
  return static_cast<double>(*static_cast<const float*>(info.data));
}

/// "<parameter>/<state>" in a checkpoint, checked against its parameter; the data are null when absent.
inline stc_buffer find_state_tensor(const stc::StateReader& reader, const BoundInfo& bound, const std::string& state,
                                    int32_t dtype) {
  const std::string name = bound.name + "/" + state;
  const stc_buffer found = reader.buffer(name.c_str());
  if (found.data == nullptr) return found;
  const bool fits = found.dtype == dtype && static_cast<size_t>(found.ndim) == bound.sizes.size() &&
                    std::equal(bound.sizes.begin(), bound.sizes.end(), found.sizes);
  if (!fits) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": got " + dtype_name(found.dtype) + " " +
                                                shape_text(found.sizes, static_cast<size_t>(found.ndim)) +
                                                ", expected " + dtype_name(dtype) + " " + shape_text(bound.sizes));
  }
  return found;
}

/// As find_state_tensor, for state that has to be there.
inline stc_buffer state_tensor(const stc::StateReader& reader, const BoundInfo& bound, const std::string& state,
                               int32_t dtype) {
  const stc_buffer found = find_state_tensor(reader, bound, state, dtype);
  if (found.data == nullptr && bound.numel > 0) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + bound.name + "/" + state + ": is missing");
  }
  return found;
}

/// A count "<parameter>/<state>" in a checkpoint.
inline int64_t state_count(const stc::StateReader& reader, const BoundInfo& bound, const std::string& state) {
  const std::string name = bound.name + "/" + state;
  const auto count = reader.number<int64_t>(name.c_str());
  if (!count || *count < 0) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": is " + (count ? "negative" : "missing"));
  }
  return *count;
}

}  // namespace stc::stable
