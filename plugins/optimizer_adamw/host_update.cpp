#include "host_update.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

namespace stc::adamw {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kBlock = 2048;     // elements: small, so that the threads get equal shares
constexpr int64_t kPerTask = 32768;  // elements worth the wake-up of another thread

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// The multipliers of all slots that share rate, decay and count.
struct FactorSet {
  uint32_t group;
  int64_t t;
  Factors<float> f32;
  Factors<double> f64;
};

}  // namespace

HostUpdate::Packed HostUpdate::allocate(int64_t bytes) const {
  if (bytes == 0) return {};
  Packed packed{host_.alloc(static_cast<uint64_t>(bytes), kAlignment), bytes};
  std::memset(packed.memory.get(), 0, static_cast<size_t>(bytes));
  return packed;
}

void HostUpdate::lay_out(bool doubles, Packed& exp_avg, Packed& exp_avg_sq) {
  const auto mine = [&](const Slot& slot) { return slot.on_host && slot.is_double() == doubles; };
  int64_t bytes = 0;
  for (const Slot& slot : *slots_) {
    if (mine(slot)) bytes += aligned(slot.numel * static_cast<int64_t>(slot.state_size()));
  }
  exp_avg = allocate(bytes);
  exp_avg_sq = allocate(bytes);
  int64_t at = 0;
  for (Slot& slot : *slots_) {
    if (!mine(slot)) continue;
    slot.exp_avg = static_cast<char*>(exp_avg.memory.get()) + at;
    slot.exp_avg_sq = static_cast<char*>(exp_avg_sq.memory.get()) + at;
    at += aligned(slot.numel * static_cast<int64_t>(slot.state_size()));
  }
}

void HostUpdate::bind(std::vector<Slot>& slots) {
  slots_ = &slots;
  lay_out(false, exp_avg_, exp_avg_sq_);
  lay_out(true, exp_avg_f64_, exp_avg_sq_f64_);
}

void HostUpdate::zero() {
  for (Packed* packed : {&exp_avg_, &exp_avg_sq_, &exp_avg_f64_, &exp_avg_sq_f64_}) {
    if (packed->bytes > 0) std::memset(packed->memory.get(), 0, static_cast<size_t>(packed->bytes));
  }
}

const void* HostUpdate::copy_strided(const stc_tensor_info& info, int64_t numel) {
  const size_t item = dtype_size(info.dtype);
  std::vector<char>& out = copies_.emplace_back(static_cast<size_t>(numel) * item);
  std::vector<int64_t> index(static_cast<size_t>(info.ndim), 0);
  const auto* from = static_cast<const char*>(info.data);
  int64_t offset = 0;  // elements
  for (int64_t i = 0; i < numel; ++i) {
    std::memcpy(&out[static_cast<size_t>(i) * item], from + offset * static_cast<int64_t>(item), item);
    for (int32_t d = info.ndim - 1; d >= 0; --d) {
      const auto k = static_cast<size_t>(d);
      offset += info.strides[d];
      if (++index[k] < info.sizes[d]) break;
      offset -= info.strides[d] * info.sizes[d];
      index[k] = 0;
    }
  }
  return out.data();
}

void HostUpdate::step(const Settings& settings, const std::vector<Group>& groups, double lr, double grad_factor,
                      const std::vector<HostGradient>& gradients) {
  std::deque<FactorSet> sets;  // few: one per group and count
  int64_t total = 0;
  blocks_.clear();
  for (const HostGradient& gradient : gradients) {
    Slot& slot = (*slots_)[gradient.slot];
    const int64_t t = ++slot.updates;
    auto set =
        std::find_if(sets.begin(), sets.end(), [&](const FactorSet& s) { return s.group == slot.group && s.t == t; });
    if (set == sets.end()) {
      const Group& group = groups[slot.group];
      const double rate = lr * group.lr_scale;
      sets.push_back({slot.group, t, make_factors<float>(settings, rate, group.weight_decay, grad_factor, t),
                      make_factors<double>(settings, rate, group.weight_decay, grad_factor, t)});
      set = std::prev(sets.end());
    }
    const void* factors = slot.is_double() ? static_cast<const void*>(&set->f64) : static_cast<const void*>(&set->f32);
    for (int64_t begin = 0; begin < slot.numel; begin += kBlock) {
      blocks_.push_back({&gradient, factors, begin, std::min(kBlock, slot.numel - begin)});
    }
    total += slot.numel;
  }
  if (blocks_.empty()) return;

  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Block& block = blocks_[static_cast<size_t>(b)];
      const Slot& slot = (*slots_)[block.gradient->slot];
      const auto item = static_cast<int64_t>(dtype_size(slot.dtype));
      const auto state = static_cast<int64_t>(slot.state_size());
      const Stretch stretch{static_cast<char*>(slot.data) + block.begin * item,
                            static_cast<const char*>(block.gradient->data) + block.begin * item,
                            static_cast<char*>(slot.exp_avg) + block.begin * state,
                            static_cast<char*>(slot.exp_avg_sq) + block.begin * state, block.count};
      if (settings.fused) {
        update(slot.element, block.factors, settings.cautious, stretch);
      } else {
        update_plain(slot.element, block.factors, settings.cautious, stretch);
      }
    }
  };
  const auto count = static_cast<int64_t>(blocks_.size());
  if (!settings.fused || total < 2 * kPerTask) return run(0, count);
  host_.parallel_for(count, std::max<int64_t>(1, count * kPerTask / total), run);
}

}  // namespace stc::adamw
