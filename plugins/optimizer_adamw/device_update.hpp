/// \file
/// AdamW on devices other than the CPU, by LibTorch's operators. Never waits for the device.
///
/// Checked against the CPU path with CPU tensors only (adamw_test.cpp); it has not run on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include <stc/stable/optimizer.hpp>

#include "slot.hpp"

namespace stc::adamw {

class DeviceUpdate {
 public:
  /// Zero moments for the slots that are not on the host. `slots` must outlive this.
  void bind(std::vector<Slot>& slots);
  /// Whether LibTorch's fused update works for the slots that are not on the host: it is tried on one element of
  /// each device and type. Where it does not, one line in the log says why, a warning if it was `demanded`.
  bool can_fuse(const Host& host, bool demanded) const;
  /// One update of the slots in `indices`, whose gradients are given. A skipped update (found_inf) changes
  /// nothing but Slot::updates, which the caller takes back once it knows.
  void step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
            const std::vector<uint32_t>& indices, const std::vector<stable::Tensor>& gradients);
  void zero();
  /// From a checkpoint, whatever device it is on.
  static void copy_state(Slot& slot, const stable::Tensor& exp_avg, const stable::Tensor& exp_avg_sq);

 private:
  void step_fused(const Settings& settings, const Group& group, const Step& step, const std::vector<uint32_t>& indices,
                  const std::vector<stable::Tensor>& gradients, int64_t t);
  void step_composed(const Settings& settings, const Group& group, const Step& step, Slot& slot,
                     const stable::Tensor& gradient, int64_t t);

  std::vector<Slot>* slots_ = nullptr;
};

}  // namespace stc::adamw
