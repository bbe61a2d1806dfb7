#include "host_update.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#include "iteration.hpp"

namespace stc::muon {
namespace {

constexpr int64_t kAlignment = 64;
/// Scratch of one batch: large enough to keep all threads busy, small enough not to matter beside the weights.
constexpr int64_t kScratchPerThread = int64_t{16} << 20;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

HostUpdate::Buffer HostUpdate::allocate(int64_t bytes) const {
  return {host_.alloc(static_cast<uint64_t>(bytes), kAlignment), bytes};
}

void HostUpdate::lay_out(bool doubles, Buffer& momentum) {
  const auto mine = [&](const Slot& slot) { return slot.on_host && slot.is_double() == doubles; };
  const auto bytes_of = [](const Slot& slot) { return aligned(slot.numel * static_cast<int64_t>(slot.state_size())); };
  int64_t bytes = 0;
  for (const Slot& slot : *slots_) bytes += mine(slot) ? bytes_of(slot) : 0;
  if (bytes == 0) return;
  momentum = allocate(bytes);
  int64_t at = 0;
  for (Slot& slot : *slots_) {
    if (!mine(slot)) continue;
    slot.momentum = static_cast<char*>(momentum.memory.get()) + at;
    at += bytes_of(slot);
  }
}

void HostUpdate::bind(std::vector<Slot>& slots) {
  slots_ = &slots;
  lay_out(false, momentum_);
  lay_out(true, momentum_f64_);
  zero();
}

void HostUpdate::zero() {
  for (Buffer* buffer : {&momentum_, &momentum_f64_}) {
    if (buffer->bytes > 0) std::memset(buffer->memory.get(), 0, static_cast<size_t>(buffer->bytes));
  }
}

template <class P, class S>
void HostUpdate::run(const Settings& settings, const std::vector<Matrix>& all) {
  const int64_t rows = std::min(all[0].rows, all[0].cols), cols = std::max(all[0].rows, all[0].cols);
  const int64_t each = Iteration<P, S>::scratch_bytes(rows, cols);
  const int64_t threads = std::max(1, host_.device().num_threads);
  // As many matrices as fit, and a multiple of the threads where there is room for one each.
  int64_t fit = std::max<int64_t>(1, kScratchPerThread * threads / each);
  if (fit > threads) fit -= fit % threads;
  const auto at_once = static_cast<size_t>(fit);
  for (size_t begin = 0; begin < all.size(); begin += at_once) {
    const std::vector<Matrix> batch(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                    all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), begin + at_once)));
    const int64_t bytes = each * static_cast<int64_t>(batch.size());
    if (scratch_.bytes < bytes) {
      scratch_ = {};
      scratch_ = allocate(bytes);
    }
    Iteration<P, S> iteration(settings, batch, scratch_.memory.get());
    // At least two items, so that a product always runs on one thread: it must not matter to its bits
    // whether the host has another.
    const auto parallel = [&](int64_t n, auto&& task) {
      if (n == 0) return;
      host_.parallel_for(std::max<int64_t>(n, 2), 1, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < std::min(to, n); ++i) task(i);
      });
    };
    const auto serial = [](int64_t n, auto&& task) {
      for (int64_t i = 0; i < n; ++i) task(i);
    };
    // A thread takes a matrix through all passes, without waiting for others; only large ones that do not come
    // out even are shared.
    const int64_t alone = iteration.small() ? iteration.size() : iteration.size() / threads * threads;
    parallel(alone, [&](int64_t m) { iteration.work(m, m + 1, serial); });
    iteration.work(alone, iteration.size(), parallel);
  }
}

void HostUpdate::step(const Settings& settings, const std::vector<Group>& groups, double lr, double grad_factor,
                      const std::vector<HostGradient>& gradients) {
  // One batch per type and shape, in the order of bind.
  std::map<std::tuple<int32_t, int64_t, int64_t>, std::vector<Matrix>> batches;
  for (const HostGradient& gradient : gradients) {
    Slot& slot = (*slots_)[gradient.slot];
    const Group& group = groups[slot.group];
    const double rate = lr * group.lr_scale;
    ++slot.updates;
    batches[{slot.dtype, slot.rows(), slot.cols()}].push_back(
        {slot.data, gradient.data, slot.momentum, slot.rows(), slot.cols(), slot.transposed(), grad_factor,
         1 - rate * group.weight_decay, rate * slot.rate_scale()});
  }
  for (const auto& [key, batch] : batches) {
    switch (std::get<0>(key)) {
      case STC_DTYPE_FLOAT64: run<double, double>(settings, batch); break;
      case STC_DTYPE_FLOAT16: run<c10::Half, float>(settings, batch); break;
      case STC_DTYPE_BFLOAT16: run<c10::BFloat16, float>(settings, batch); break;
      default: run<float, float>(settings, batch); break;
    }
  }
}

}  // namespace stc::muon
