#include "newton_schulz.hpp"

#include <algorithm>

#include <stc/stable/ops.hpp>

namespace stc::muon {
namespace {

using stable::Tensor;

constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

/// Smaller products are faster whole.
constexpr int64_t kSmallestBlock = 128;
constexpr int64_t kMostBlocks = 4;

void bmm_out(const Tensor& a, const Tensor& b, const Tensor& out) {
  stable::call<"aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)">(a, b, out);
}

Tensor new_empty(const Tensor& like, const std::vector<int64_t>& sizes) {
  return stable::call<
      "aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor">(like, sizes, std::nullopt, std::nullopt, std::nullopt,
                                                               std::nullopt);
}

/// out (k,n,n) = rows rows^T for rows (k,n,m).
void symmetric_product(const Tensor& rows, const Tensor& out) {
  const int64_t n = rows.sizes()[1];
  const int64_t blocks = std::clamp<int64_t>(n / kSmallestBlock, 1, kMostBlocks);
  const int64_t step = (n + blocks - 1) / blocks;
  for (int64_t i = 0; i < n; i += step) {
    const int64_t height = std::min(step, n - i);
    const Tensor left = stable::narrow(rows, 1, i, height);
    for (int64_t j = 0; j <= i; j += step) {
      const int64_t width = std::min(step, n - j);
      const Tensor right = stable::transpose(stable::narrow(rows, 1, j, width), 1, 2);
      const Tensor block = stable::narrow(stable::narrow(out, 1, i, height), 2, j, width);
      bmm_out(left, right, block);
      if (i == j) continue;
      stable::copy_(stable::narrow(stable::narrow(out, 1, j, width), 2, i, height), stable::transpose(block, 1, 2));
    }
  }
}

/// value on the diagonal of (n,n).
Tensor diagonal(const Tensor& like, int64_t n, double value) {
  const Tensor eye = stable::full(like, {n, n}, 0.0);
  stable::fill_(stable::call<"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)">(
                    eye, int64_t{0}, int64_t{0}, int64_t{1}),
                value);
  return eye;
}

}  // namespace

Tensor newton_schulz(Tensor x, int64_t steps) {
  const std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  const bool tall = sizes[1] > sizes[2];
  const int64_t n = std::min(sizes[1], sizes[2]);
  const Tensor gram = new_empty(x, {sizes[0], n, n});
  const Tensor square = new_empty(x, {sizes[0], n, n});
  const Tensor identity = diagonal(x, n, kA);
  Tensor next = new_empty(x, sizes);
  for (int64_t step = 0; step < steps; ++step) {
    symmetric_product(tall ? stable::transpose(x, 1, 2) : x, gram);
    symmetric_product(gram, square);
    stable::mul_(square, kC);
    stable::add_(square, gram, kB);
    stable::add_(square, identity);
    tall ? bmm_out(x, square, next) : bmm_out(square, x, next);
    std::swap(x, next);
  }
  return x;
}

}  // namespace stc::muon
