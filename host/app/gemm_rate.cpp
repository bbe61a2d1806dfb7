#include "host/app/gemm_rate.hpp"

#include <chrono>
#include <vector>

#include "gemm/gemm.hpp"
#include "host/services/services.hpp"

namespace stc::host {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds of the fastest repetition.
double fastest(gemm::Engine engine, const gemm::Product& product, int64_t threads) {
  const gemm::Parallel parallel{nullptr, torch_slots().parallel_for};
  double best = 1e9;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(160);
  do {
    const Clock::time_point begin = Clock::now();
    gemm::multiply(engine, product, threads, parallel);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  return best;
}

}  // namespace

GemmRate measure_gemm(int64_t threads) {
  const std::vector<float> a(kGemmRows * kGemmInner, 0.5F), b(kGemmInner * kGemmCols, 0.25F);
  std::vector<float> c(kGemmRows * kGemmCols);
  const gemm::Product product{
      {a.data(), kGemmInner, 1}, {b.data(), kGemmCols, 1}, c.data(), kGemmCols, kGemmRows, kGemmCols, kGemmInner};
  GemmRate best;
  for (const gemm::Engine engine : {gemm::Engine::library, gemm::Engine::own}) {
    if (!gemm::available(engine)) continue;
    const double seconds = fastest(engine, product, threads);
    const double flops = 2.0 * kGemmRows * kGemmInner * kGemmCols / seconds;
    if (flops > best.flops) best = {flops, gemm::engine_name(engine)};
  }
  return best;
}

}  // namespace stc::host
