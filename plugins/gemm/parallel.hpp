/// \file
/// Splitting rows over the host's threads.
#pragma once

#include <cstdint>
#include <type_traits>

namespace stc::gemm {

/// A loop runner with the form of stc_host's parallel_for. Default-constructed: one thread.
struct Parallel {
  using Body = void (*)(void* arg, int64_t begin, int64_t end);
  void* ctx = nullptr;
  void (*run)(void* ctx, int64_t n, int64_t grain, Body body, void* arg) = nullptr;

  /// fn(begin, end) over [0, n) in chunks of at least `grain`. fn must not throw.
  template <class Fn>
  void operator()(int64_t n, int64_t grain, Fn&& fn) const {
    if (run == nullptr || n <= grain) {
      if (n > 0) fn(int64_t{0}, n);
      return;
    }
    using Target = std::remove_reference_t<Fn>;
    run(
        ctx, n, grain, [](void* arg, int64_t begin, int64_t end) { (*static_cast<Target*>(arg))(begin, end); }, &fn);
  }
};

}  // namespace stc::gemm
