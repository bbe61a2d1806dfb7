/// \file
/// Muon for the matrices of linear layers, AdamW for everything else, at level stable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <stc/stable/inner_optimizer.hpp>
#include <stc/stable/optimizer.hpp>

#include "device_update.hpp"
#include "host_update.hpp"
#include "slot.hpp"

namespace stc::muon {

class Muon {
 public:
  struct Params {
    double muon_momentum = 0.95;
    int64_t muon_ns_steps = 5;
    bool muon_nesterov = true;
    bool muon_plus = false;
    double muon_norm_eps = 1e-8;
    std::vector<double> betas = {0.9, 0.95};
    double eps = 1e-8;
    std::optional<bool> fused;
    template <class V>
    static void describe(V& v) {
      v("muon_momentum", &Params::muon_momentum, "decay rate of Muon's momentum", stc::half_open(0.0, 1.0));
      v("muon_ns_steps", &Params::muon_ns_steps, "Newton-Schulz iterations", 1, 1000);
      v("muon_nesterov", &Params::muon_nesterov, "look ahead along the momentum");
      v("muon_plus", &Params::muon_plus, "normalise the update by rows, then by columns");
      v("muon_norm_eps", &Params::muon_norm_eps, "added to the squared norms of muon_plus", stc::above(0.0));
      v("betas", &Params::betas, "of AdamW: decay rates of the first and second moment", stc::half_open(0.0, 1.0));
      v("eps", &Params::eps, "of AdamW: added to the root of the second moment", stc::above(0.0));
      v("fused", &Params::fused, "of AdamW: one fused update; null where it works");
    }
  };

  /// \throws the errors of plugin adamw, which reads its keys from the same section.
  Muon(const Params& params, stc::Host host, stc::Config section);
  /// \throws Fault(INVALID_ARGUMENT) naming a parameter that is not contiguous, has an unsupported type, or
  /// shares memory with another.
  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups);
  void step(const Step& step, const stable::Gradients& gradients);
  /// Per matrix of Muon momentum_buffer and step, also when never updated; then adamw's.
  void save(stable::StateWriter& writer) const;
  /// All of Muon's or nothing. \throws Fault(INVALID_ARGUMENT) naming what is missing or unlike its parameter.
  void load(stable::StateReader& reader);
  void reset();
  void set_group(uint32_t index, const Group& group);
  void set_cautious(bool enabled);
  /// "muon" or "adamw"
  const char* algorithm(uint32_t index) const;

 private:
  void take_back_skipped(uint64_t step);
  const void* dense_data(const Slot& slot, const stc_tensor_info& info, const stable::Tensor& gradient);

  Host host_;
  Settings settings_;
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  stable::InnerOptimizer adamw_;
  std::vector<uint32_t> adamw_indices_;  // in the order of bind
  size_t num_bound_ = 0;
  HostUpdate on_host_;
  DeviceUpdate on_device_;
  std::vector<stable::Tensor> copies_;  // of gradients with strides, for one step
  // of the last update on a device, which learns by itself whether it was skipped
  std::optional<uint64_t> last_step_;
  std::vector<uint32_t> last_device_indices_;
};

}  // namespace stc::muon
