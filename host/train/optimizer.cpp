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

bool Optimizer::has_modes() const { return api<stc_optimizer_api>().set_mode != nullptr; }

std::string Optimizer::algorithm(size_t index) const {
  const auto& slots = api<stc_optimizer_api>();
  if (slots.get_extension == nullptr) return name();
  const auto* routing = static_cast<const stc_optimizer_routing*>(slots.get_extension(raw_, STC_OPTIMIZER_ROUTING));
  if (routing == nullptr || routing->struct_size < STC_SIZE_TO_END(stc_optimizer_routing, algorithm)) return name();
  const char* word = routing->algorithm(raw_, static_cast<uint32_t>(index));
  return word == nullptr ? name() : word;
}

void Optimizer::set_group(uint32_t index, const OptimizerGroup& group) {
  if (api<stc_optimizer_api>().set_group == nullptr) {
    throw PluginError("plugin " + name() + " (optimizer): has no set_group, so the rate of a group cannot change");
  }
  const stc_group raw{sizeof(stc_group), 0, group.lr_scale, group.weight_decay};
  call("set_group", [&] { return api<stc_optimizer_api>().set_group(raw_, index, &raw); });
}

void Optimizer::set_mode(int mode) {
  if (!has_modes()) return;
  call("set_mode", [&] { api<stc_optimizer_api>().set_mode(raw_, mode); });
}

}  // namespace stc::host
