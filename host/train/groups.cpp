#include "host/train/groups.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

size_t first_match(const std::vector<ParameterGroup>& groups, const std::string& name) {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (fnmatch(groups[i].match.c_str(), name.c_str(), 0) == 0) return i;
  }
  return kNone;
}

bool is_undecayed(const ModelParameter& parameter) {
  return parameter.role == STC_ROLE_NORM || parameter.role == STC_ROLE_BIAS;
}

uint32_t index_of(std::vector<OptimizerGroup>& groups, const OptimizerGroup& wanted) {
  const auto same = [&wanted](const OptimizerGroup& group) {
    return group.lr_scale == wanted.lr_scale && group.weight_decay == wanted.weight_decay;
  };
  const auto found = std::find_if(groups.begin(), groups.end(), same);
  if (found != groups.end()) return static_cast<uint32_t>(found - groups.begin());
  groups.push_back(wanted);
  return static_cast<uint32_t>(groups.size() - 1);
}

/// A pattern that decides nothing is a slip of the pen.
void refuse_unused(const std::vector<ParameterGroup>& groups, const std::vector<const ModelParameter*>& parameters,
                   const Location& at) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto matches = [&](const ModelParameter* parameter) {
      return fnmatch(groups[i].match.c_str(), parameter->name.c_str(), 0) == 0;
    };
    if (std::any_of(parameters.begin(), parameters.end(), matches)) continue;
    throw ConfigError("optimizer.groups[" + std::to_string(i) + "].match: got " + groups[i].match +
                          ", which matches none of " + std::to_string(parameters.size()) + " trainable parameters",
                      "names are like " + parameters.front()->name + "; * stands for any characters", at);
  }
}

}  // namespace

GroupPlan plan_groups(const std::vector<const ModelParameter*>& parameters, const std::vector<std::string>& routing,
                      const OptimizerSettings& settings, const Location& groups_at, const Location& muon_lr_at) {
  refuse_unused(settings.groups, parameters, groups_at);
  const bool any_muon = std::find(routing.begin(), routing.end(), "muon") != routing.end();
  if (settings.muon_lr && !routing.empty() && !any_muon) {
    throw ConfigError("optimizer.muon_lr: got a rate, but optimizer " + settings.name + " gives no parameter to Muon",
                      "set optimizer.name: muon, or remove muon_lr", muon_lr_at);
  }
  GroupPlan plan;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool muon = !routing.empty() && routing[i] == "muon";
    double lr = muon ? settings.muon_lr.value_or(settings.lr) : settings.lr;
    double decay = settings.no_decay && is_undecayed(*parameters[i]) ? 0.0 : settings.weight_decay;
    if (const size_t match = first_match(settings.groups, parameters[i]->name); match != kNone) {
      lr = settings.groups[match].lr.value_or(lr);
      decay = settings.groups[match].weight_decay.value_or(decay);
    }
    plan.group.push_back(index_of(plan.groups, {lr == settings.lr ? 1.0 : lr / settings.lr, decay}));
  }
  return plan;
}

}  // namespace stc::host
