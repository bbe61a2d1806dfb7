/// \file
/// Muon by LibTorch's operators: on devices other than the CPU, and on a CPU whose LibTorch exports no matrix
/// products. Never waits for the device.
///
/// Checked against the CPU path with CPU tensors only (device_update_test.cpp); it has not run on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "slot.hpp"

namespace stc::muon {

/// The orthogonal factor of each matrix of x (n,R,C) with R <= C, in x's type.
stable::Tensor newton_schulz(const stable::Tensor& x, int64_t steps);

class DeviceUpdate {
 public:
  /// Zero momentum for the slots that are not on the host. `slots` must outlive this.
  void bind(std::vector<Slot>& slots);
  /// One update of the slots in `indices`, whose gradients are given. A skipped update (found_inf) changes
  /// nothing but Slot::updates, which the caller takes back once it knows.
  void step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
            const std::vector<uint32_t>& indices, const std::vector<stable::Tensor>& gradients);
  void zero();

 private:
  void step_batch(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                  const std::vector<Slot*>& batch, const std::vector<stable::Tensor>& gradients);

  std::vector<Slot>* slots_ = nullptr;
};

}  // namespace stc::muon
