/// \file
/// AdamW at level stable: raw pointers on the CPU, LibTorch's operators on other devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stc/stable/optimizer.hpp>

#include "device_update.hpp"
#include "host_update.hpp"
#include "slot.hpp"

namespace stc::adamw {

class AdamW {
 public:
  struct Params {
    std::vector<double> betas = {0.9, 0.95};
    double eps = 1e-8;
    std::optional<bool> fused;
    template <class V>
    static void describe(V& v) {
      v("betas", &Params::betas, "decay rates of the first and second moment", stc::half_open(0.0, 1.0));
      v("eps", &Params::eps, "added to the root of the second moment", stc::above(0.0));
      v("fused", &Params::fused,
        "one vectorised, multi-threaded pass on the CPU, LibTorch's fused update elsewhere; null and true where it works, "
        "false a plain loop");
    }
  };

  AdamW(const Params& params, stc::Host host);
  /// \throws Fault(INVALID_ARGUMENT) naming a parameter that is not contiguous, has an unsupported type, or
  /// shares memory with another.
  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups);
  void step(const Step& step, const stable::Gradients& gradients);
  /// Per parameter exp_avg, exp_avg_sq and step, also for those never updated.
  void save(stable::StateWriter& writer) const;
  /// All or nothing. \throws Fault(INVALID_ARGUMENT) naming what is missing or unlike its parameter.
  void load(stable::StateReader& reader);
  void reset();
  void set_group(uint32_t index, const Group& group);
  void set_cautious(bool enabled) { settings_.cautious = enabled; }

 private:
  Host host_;
  Settings settings_;
  bool fused_demanded_ = false;
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  HostUpdate on_host_;
  DeviceUpdate on_device_;
  // of the last update on a device, which learns by itself whether it was skipped
  std::optional<uint64_t> last_step_;
  std::vector<uint32_t> last_device_indices_;
};

}  // namespace stc::adamw
