#include "host/app/gemm_rate.hpp"

#include <algorithm>
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
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(120);
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

double products_seconds(const std::vector<MatrixShape>& matrices, int64_t positions, bool bf16, int64_t threads) {
  double seconds = 0;
  for (const MatrixShape& matrix : matrices) {
    const int64_t n = positions, out = matrix.out, in = matrix.in;
    std::vector<float> x(static_cast<size_t>(n * in), 0.5F), y(static_cast<size_t>(n * out), 0.25F);
    std::vector<float> w(static_cast<size_t>(out * in), 0.125F);
    const gemm::Product products[] = {
        {{x.data(), in, 1}, {w.data(), 1, in}, y.data(), out, n, out, in, 1.0F, 0.0F, bf16},
        {{y.data(), out, 1}, {w.data(), in, 1}, x.data(), in, n, in, out, 1.0F, 0.0F, bf16},
        {{y.data(), 1, out}, {x.data(), in, 1}, w.data(), in, out, in, n, 1.0F, 0.0F, bf16},
    };
    for (const gemm::Product& product : products) {
      std::fill(x.begin(), x.end(), 0.5F);
      std::fill(y.begin(), y.end(), 0.25F);
      std::fill(w.begin(), w.end(), 0.125F);
      const gemm::Engine engine = gemm::engine_for(product.rows, product.cols, product.inner, bf16);
      // Sharing a small product may cost more than it saves.
      const double best = std::min(fastest(engine, product, 1), fastest(engine, product, threads));
      seconds += static_cast<double>(matrix.count) * best;
    }
  }
  return seconds;
}

}  // namespace stc::host
