#include "host/train/optimizer.hpp"

#include "host/errors/error.hpp"

namespace stc::host {

Optimizer::Optimizer(InstanceSpec spec) : Instance(std::move(spec)) {
  call("create", [&] { return api<stc_optimizer_api>().create(host(), section(), &raw_); });
  if (raw_ == nullptr) throw PluginError("plugin " + name() + " (optimizer): create: returned no instance");
}

Optimizer::~Optimizer() {
  if (raw_ != nullptr) api<stc_optimizer_api>().destroy(raw_);
}

namespace {

stc_bound_parameter bound_parameter(const ModelParameter& parameter, uint32_t group) {
  stc_bound_parameter item{};
  item.struct_size = sizeof(item);
  item.role = parameter.role;
  item.name = parameter.name.c_str();
  item.tensor = parameter.tensor;
  item.group = group;
  return item;
}

}  // namespace

std::vector<std::string> Optimizer::routing(const std::vector<const ModelParameter*>& parameters) {
  std::vector<std::string> names(parameters.size(), name());
  if (api<stc_optimizer_api>().get_extension == nullptr) return names;
  const auto* found = static_cast<const stc_optimizer_routing*>(
      call("get_extension", [&] { return api<stc_optimizer_api>().get_extension(raw_, STC_OPTIMIZER_ROUTING); }));
  if (found == nullptr || found->struct_size < STC_SIZE_TO_END(stc_optimizer_routing, route)) return names;
  std::vector<stc_bound_parameter> items;
  for (const ModelParameter* parameter : parameters) items.push_back(bound_parameter(*parameter, 0));
  std::vector<const char*> routes(parameters.size(), nullptr);
  call("route", [&] {
    return found->route(raw_, items.data(), static_cast<uint32_t>(items.size()), sizeof(stc_bound_parameter),
                        routes.data());
  });
  for (size_t i = 0; i < routes.size(); ++i) {
    if (routes[i] != nullptr) names[i] = routes[i];
  }
  return names;
}

void Optimizer::bind(const std::vector<const ModelParameter*>& parameters, const std::vector<uint32_t>& group,
                     const std::vector<OptimizerGroup>& groups) {
  std::vector<stc_bound_parameter> bound;
  bound.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const stc_bound_parameter item = bound_parameter(*parameters[i], group.at(i));
    if (item.group >= groups.size()) {
      throw TrainError("optimizer: parameter " + parameters[i]->name + " is in group " + std::to_string(item.group) +
                       " of " + std::to_string(groups.size()));
    }
    bound.push_back(item);
  }
  std::vector<stc_group> raw_groups;
  raw_groups.reserve(groups.size());
  for (const OptimizerGroup& g : groups) raw_groups.push_back({sizeof(stc_group), 0, g.lr_scale, g.weight_decay});
  call("bind", [&] {
    return api<stc_optimizer_api>().bind(raw_, bound.data(), static_cast<uint32_t>(bound.size()),
                                         sizeof(stc_bound_parameter), raw_groups.data(),
                                         static_cast<uint32_t>(raw_groups.size()), sizeof(stc_group));
  });
  num_bound_ = bound.size();
}

void Optimizer::step(const stc_step_info& info, const std::vector<stc_tensor>& gradients) {
  if (gradients.size() != num_bound_) {
    throw TrainError("optimizer: step got " + std::to_string(gradients.size()) + " gradients for " +
                     std::to_string(num_bound_) + " bound parameters");
  }
  call("step", [&] {
    return api<stc_optimizer_api>().step(raw_, &info, gradients.data(), static_cast<uint32_t>(gradients.size()));
  });
}

void Optimizer::state_save(const stc_state_writer& writer) {
  call("state_save", [&] { return api<stc_optimizer_api>().state_save(raw_, &writer); });
}

void Optimizer::state_load(const stc_state_reader& reader) {
  call("state_load", [&] { return api<stc_optimizer_api>().state_load(raw_, &reader); });
}

void Optimizer::reset() {
  call("reset", [&] { api<stc_optimizer_api>().reset(raw_); });
}

void Optimizer::set_mode(int mode) {
  if (api<stc_optimizer_api>().set_mode == nullptr) return;
  call("set_mode", [&] { api<stc_optimizer_api>().set_mode(raw_, mode); });
}

}  // namespace stc::host
