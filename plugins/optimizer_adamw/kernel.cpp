// Compiled with -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math (CMakeLists.txt): the loops
// vectorise, square root and division included, and every result is the correctly rounded one.

#include "kernel.hpp"

#include <cmath>

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

namespace stc::adamw {
namespace {

/// P: type in memory. S: type of the arithmetic and of the moments.
template <bool kCautious, class P, class S>
[[gnu::always_inline]] inline void run(const Factors<S>& f, P* __restrict parameter, const P* __restrict gradient,
                                       S* __restrict exp_avg, S* __restrict exp_avg_sq, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const S g = static_cast<S>(gradient[i]) * f.grad_factor;
    const S p = static_cast<S>(parameter[i]);
    const S m = f.beta1 * exp_avg[i] + f.one_minus_beta1 * g;
    const S v = f.beta2 * exp_avg_sq[i] + f.one_minus_beta2 * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    const P next = static_cast<P>(p * f.decay - f.step * m / (std::sqrt(v) * f.root_scale + f.eps));
    if constexpr (kCautious) {
      const S d = p - static_cast<S>(next);
      const bool keep = (d > 0 && g > 0) || (d < 0 && g < 0);
      parameter[i] = keep ? next : parameter[i];
    } else {
      parameter[i] = next;
    }
  }
}

template <class P, class S>
[[gnu::always_inline]] inline void choose(const void* factors, bool cautious, const Stretch& s) {
  const auto& f = *static_cast<const Factors<S>*>(factors);
  auto* p = static_cast<P*>(s.parameter);
  const auto* g = static_cast<const P*>(s.gradient);
  auto* m = static_cast<S*>(s.exp_avg);
  auto* v = static_cast<S*>(s.exp_avg_sq);
  if (cautious) {
    run<true>(f, p, g, m, v, s.count);
  } else {
    run<false>(f, p, g, m, v, s.count);
  }
}

[[gnu::always_inline]] inline void dispatch(Element element, const void* factors, bool cautious, const Stretch& s) {
  switch (element) {
    case Element::kFloat32: return choose<float, float>(factors, cautious, s);
    case Element::kFloat64: return choose<double, double>(factors, cautious, s);
    case Element::kFloat16: return choose<c10::Half, float>(factors, cautious, s);
    case Element::kBFloat16: return choose<c10::BFloat16, float>(factors, cautious, s);
  }
}

using Update = void (*)(Element, const void*, bool, const Stretch&);

#if defined(__x86_64__)
__attribute__((target("avx2"))) void update_avx2(Element element, const void* factors, bool cautious,
                                                 const Stretch& s) {
  dispatch(element, factors, cautious, s);
}
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void update_avx512(Element element, const void* factors,
                                                                                 bool cautious, const Stretch& s) {
  dispatch(element, factors, cautious, s);
}
#endif

void update_base(Element element, const void* factors, bool cautious, const Stretch& s) {
  dispatch(element, factors, cautious, s);
}

Update best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return &update_avx512;
  }
  if (__builtin_cpu_supports("avx2")) return &update_avx2;
#endif
  return &update_base;
}

}  // namespace

void update(Element element, const void* factors, bool cautious, const Stretch& stretch) {
  static const Update chosen = best();
  chosen(element, factors, cautious, stretch);
}

void update_plain(Element element, const void* factors, bool cautious, const Stretch& stretch) {
  update_base(element, factors, cautious, stretch);
}

}  // namespace stc::adamw
