/// \file
/// Muon on the CPU: packed momentum, Newton-Schulz over batches of equal shape on the host's threads.
#pragma once

#include <cstdint>
#include <vector>

#include "passes.hpp"
#include "slot.hpp"

namespace stc::muon {

/// A gradient ready for the passes: contiguous, in the parameter's type.
struct HostGradient {
  uint32_t slot = 0;
  const void* data = nullptr;
};

class HostUpdate {
 public:
  explicit HostUpdate(Host host) : host_(host) {}
  /// Lays out the momentum of the host's slots in the order of bind, one buffer per arithmetic type, each
  /// matrix at a multiple of 64 bytes, all zero. `slots` must outlive this.
  void bind(std::vector<Slot>& slots);
  /// One update of the slots that have a gradient.
  void step(const Settings& settings, const std::vector<Group>& groups, double lr, double grad_factor,
            const std::vector<HostGradient>& gradients);
  void zero();

 private:
  struct Buffer {
    Host::Memory memory{nullptr, {nullptr}};
    int64_t bytes = 0;
  };
  Buffer allocate(int64_t bytes) const;
  void lay_out(bool doubles, Buffer& momentum);
  template <class P, class S>
  void run(const Settings& settings, const std::vector<Matrix>& batch);

  Host host_;
  std::vector<Slot>* slots_ = nullptr;
  Buffer momentum_, momentum_f64_;
  Buffer scratch_;  // of the iteration; grows to what the largest batch needs
};

}  // namespace stc::muon
