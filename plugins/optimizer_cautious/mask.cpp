#include "mask.hpp"

#include <cstring>

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#include <stc/stable/ops.hpp>
#include <stc/stable/update.hpp>

namespace stc::cautious {
namespace {

using stable::Tensor;

constexpr int64_t kPerTask = 32768;  // elements worth the wake-up of another thread

/// S: a type that holds P's values exactly and can be compared.
template <class P, class S>
void select(void* parameter, const void* before, const void* gradient, int64_t begin, int64_t end) {
  auto* p = static_cast<P*>(parameter);
  const auto* old = static_cast<const P*>(before);
  const auto* g = static_cast<const P*>(gradient);
  for (int64_t i = begin; i < end; ++i) {
    const S d = static_cast<S>(old[i]) - static_cast<S>(p[i]);
    const S s = static_cast<S>(g[i]);
    if (!((d > 0 && s > 0) || (d < 0 && s < 0))) p[i] = old[i];
  }
}

}  // namespace

Mask::Mask(Host host, const std::vector<stable::BoundParameter>& parameters) : host_(host) {
  for (const stable::BoundParameter& parameter : parameters) {
    Entry entry{&parameter, stable::tensor_info(host, parameter.tensor.get()), 1, false, {}, {}};
    for (int32_t d = 0; d < entry.info.ndim; ++d) entry.numel *= entry.info.sizes[d];
    const int32_t dtype = entry.info.dtype;
    entry.plain = entry.info.device_type == STC_DEVICE_CPU && entry.info.is_contiguous != 0 &&
                  (dtype == STC_DTYPE_FLOAT32 || dtype == STC_DTYPE_FLOAT64 || dtype == STC_DTYPE_FLOAT16 ||
                   dtype == STC_DTYPE_BFLOAT16);
    entries_.push_back(std::move(entry));
  }
}

void Mask::snapshot(const stable::Gradients& gradients) {
  const stable::NoGradGuard no_grad;
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    if (!gradients.has(i)) continue;
    Entry& entry = entries_[i];
    if (!entry.plain) {
      entry.before_tensor = stable::clone(stable::detach(entry.parameter->tensor));
      continue;
    }
    entry.before.resize(static_cast<size_t>(entry.numel) * dtype_size(entry.info.dtype));
    if (entry.before.empty()) continue;
    std::memcpy(entry.before.data(), entry.info.data, entry.before.size());
  }
}

void Mask::revert_plain(Entry& entry, const void* gradient, bool any_gradient) {
  if (entry.before.empty()) return;
  if (!any_gradient) {
    std::memcpy(entry.info.data, entry.before.data(), entry.before.size());
    return;
  }
  host_.parallel_for(entry.numel, kPerTask, [&](int64_t begin, int64_t end) {
    void* p = entry.info.data;
    const void* old = entry.before.data();
    switch (entry.info.dtype) {
      case STC_DTYPE_FLOAT64: return select<double, double>(p, old, gradient, begin, end);
      case STC_DTYPE_FLOAT16: return select<c10::Half, float>(p, old, gradient, begin, end);
      case STC_DTYPE_BFLOAT16: return select<c10::BFloat16, float>(p, old, gradient, begin, end);
      default: return select<float, float>(p, old, gradient, begin, end);
    }
  });
}

void Mask::revert(const stable::Gradients& gradients, bool any_gradient) {
  const stable::NoGradGuard no_grad;
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    if (!gradients.has(i)) continue;
    Entry& entry = entries_[i];
    if (!entry.plain) {
      const Tensor p = stable::detach(entry.parameter->tensor);
      if (!any_gradient) {
        stable::copy_(p, entry.before_tensor);
        continue;
      }
      const Tensor keep = stable::same_sign(stable::sub(entry.before_tensor, p), gradients[i]);
      stable::copy_(p, stable::where(keep, p, entry.before_tensor));
      continue;
    }
    const stc_tensor_info info = stable::tensor_info(host_, gradients.raw(i));
    if (info.is_contiguous != 0) {
      revert_plain(entry, info.data, any_gradient);
    } else {
      const Tensor dense = stable::call<"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor">(
          stable::reshape(gradients[i], {entry.numel}), std::nullopt);
      revert_plain(entry, dense.data(), any_gradient);
    }
  }
}

}  // namespace stc::cautious
