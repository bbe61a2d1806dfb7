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
  /// parameters: trainable ones, borrowed; group[i] indexes groups.
  void bind(const std::vector<const ModelParameter*>& parameters, const std::vector<uint32_t>& group,
            const std::vector<OptimizerGroup>& groups);
  void step(const stc_step_info& info, const std::vector<stc_tensor>& gradients);
  void state_save(const stc_state_writer& writer);
  void state_load(const stc_state_reader& reader);
  void reset();
  /// What step trains at and what is saved or evaluated may be different weights: STC_MODE_*. No effect
  /// where the optimizer has no modes.
  void set_mode(int mode);
  bool has_modes() const;
  /// Which update the bound parameter `index` gets: the optimizer's name unless it says more.
  std::string algorithm(size_t index) const;
  /// Changes a group of bind. \throws PluginError when the optimizer cannot.
  void set_group(uint32_t index, const OptimizerGroup& group);

 private:
  stc_optimizer* raw_ = nullptr;
  size_t num_bound_ = 0;
};

}  // namespace stc::host
