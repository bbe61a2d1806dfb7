/// \file
/// Adapter of optimizer plugins.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/plugins/instance.hpp"
#include "host/train/model.hpp"
#include "stc/abi/optimizer.h"

namespace stc::host {

struct OptimizerGroup {
  double lr_scale = 1.0;
  double weight_decay = 0.0;
};

class Optimizer : public Instance {
 public:
  explicit Optimizer(InstanceSpec spec);
  ~Optimizer() override;
  /// The algorithm of each parameter, in their order: this plugin's name where it has but one.
  std::vector<std::string> routing(const std::vector<const ModelParameter*>& parameters);
  /// parameters: trainable ones, borrowed; group[i] indexes groups.
  void bind(const std::vector<const ModelParameter*>& parameters, const std::vector<uint32_t>& group,
            const std::vector<OptimizerGroup>& groups);
  void step(const stc_step_info& info, const std::vector<stc_tensor>& gradients);
  void state_save(const stc_state_writer& writer);
  void state_load(const stc_state_reader& reader);
  void reset();
  void set_mode(int mode);
  /// Whether set_mode may change the parameters.
  bool has_modes() const { return api<stc_optimizer_api>().set_mode != nullptr; }

 private:
  stc_optimizer* raw_ = nullptr;
  size_t num_bound_ = 0;
};

}  // namespace stc::host
