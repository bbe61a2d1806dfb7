/// \file
/// AdamW on the CPU: packed moments, one pass over all parameters on the host's threads.
#pragma once

#include <cstdint>
#include <vector>

#include <stc/stable/optimizer.hpp>

#include "slot.hpp"

namespace stc::adamw {

/// A gradient ready for the kernel.
struct HostGradient {
  uint32_t slot = 0;
  const void* data = nullptr;
};

class HostUpdate {
 public:
  explicit HostUpdate(Host host) : host_(host) {}
  /// Lays out the moments of the host's slots in the order of bind, one buffer per moment and arithmetic
  /// type, each parameter at a multiple of 64 bytes, all zero. `slots` must outlive this.
  void bind(std::vector<Slot>& slots);
  /// One update of the slots that have a gradient.
  void step(const Settings& settings, const std::vector<Group>& groups, double lr, double grad_factor,
            const std::vector<HostGradient>& gradients);
  void zero();
  /// The values of a strided gradient in row-major order; lives until the next clear_copies().
  const void* copy_strided(const stc_tensor_info& info, int64_t numel);
  void clear_copies() { copies_.clear(); }

 private:
  struct Packed {
    Host::Memory memory{nullptr, {nullptr}};
    int64_t bytes = 0;
  };
  /// A piece of one slot, the unit of work of a thread: its bounds never depend on their number.
  struct Block {
    const HostGradient* gradient;
    const void* factors;
    int64_t begin;
    int64_t count;
  };
  void lay_out(bool doubles, Packed& exp_avg, Packed& exp_avg_sq);
  Packed allocate(int64_t bytes) const;

  Host host_;
  std::vector<Slot>* slots_ = nullptr;
  Packed exp_avg_, exp_avg_sq_, exp_avg_f64_, exp_avg_sq_f64_;
  std::vector<Block> blocks_;
  std::vector<std::vector<char>> copies_;
};

}  // namespace stc::adamw
