/// \file
/// Which learning rate and weight decay each parameter has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/config/settings.hpp"
#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"

namespace stc::host {

/// The groups of Optimizer::bind.
struct GroupPlan {
  std::vector<OptimizerGroup> groups;  // distinct, in order of first use
  std::vector<uint32_t> group;         // of each parameter
};

/// For each parameter, what the first entry of optimizer.groups whose pattern matches its name says;
/// for what that leaves out: optimizer.lr, or optimizer.muon_lr where `routing` says "muon"; and
/// optimizer.weight_decay, or 0 for norms and biases under optimizer.no_decay.
/// \param routing algorithm of each parameter, in their order; empty: not known yet.
/// \throws ConfigError when a pattern matches no name of `parameters`, or muon_lr is given and no
/// parameter is routed to Muon.
GroupPlan plan_groups(const std::vector<const ModelParameter*>& parameters, const std::vector<std::string>& routing,
                      const OptimizerSettings& settings, const Location& groups_at, const Location& muon_lr_at);

}  // namespace stc::host
