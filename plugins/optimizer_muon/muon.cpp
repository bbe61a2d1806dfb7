#include "muon.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <stc/stable/ops.hpp>

#include "products.hpp"
#include "routing.hpp"

namespace stc::muon {

Muon::Muon(const Params& params, stc::Host host, stc::Config section)
    : host_(host), adamw_(host, "adamw", section), on_host_(host) {
  settings_.momentum = params.muon_momentum;
  settings_.ns_steps = params.muon_ns_steps;
  settings_.nesterov = params.muon_nesterov;
  settings_.plus = params.muon_plus;
  settings_.norm_eps = params.muon_norm_eps;
}

void Muon::bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
  if (num_bound_ > 0) throw Fault(STC_ERROR_STATE, "bind: called twice");
  groups_ = groups;
  std::vector<stable::BoundInfo> all;
  std::vector<stable::BoundParameter> rest;
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    const stable::BoundParameter& parameter = parameters[i];
    const stable::BoundInfo& bound = all.emplace_back(stable::describe(host_, parameter, groups.size()));
    if (takes(parameter.role, parameter.name, bound.sizes.size(), bound.numel)) {
      Slot& slot = slots_.emplace_back();
      static_cast<stable::BoundInfo&>(slot) = bound;
      slot.index = i;
      slot.on_host = bound.on_host && has_products();
    } else {
      adamw_indices_.push_back(i);
      rest.push_back(parameter);
    }
  }
  stable::refuse_shared_memory(all);
  on_host_.bind(slots_);
  on_device_.bind(slots_);
  adamw_.bind(std::move(rest), groups);
  num_bound_ = parameters.size();
}

void Muon::take_back_skipped(uint64_t step) {
  // The number of updates did not grow: the device skipped the last one.
  if (!last_step_ || *last_step_ != step) return;
  for (const uint32_t i : last_device_indices_) --slots_[i].updates;
  last_step_.reset();
}

const void* Muon::dense_data(const Slot& slot, const stc_tensor_info& info, const stable::Tensor& gradient) {
  if (info.is_contiguous != 0) return info.data;
  const stable::NoGradGuard no_grad;
  stable::Tensor& copy = copies_.emplace_back(stable::Tensor::empty(slot.sizes, slot.dtype));
  stable::copy_(copy, gradient);
  return copy.data();
}

void Muon::step(const Step& step, const stable::Gradients& gradients) {
  stable::check_count(gradients, num_bound_);
  std::vector<HostGradient> on_host;
  std::vector<uint32_t> device_indices;
  std::vector<stable::Tensor> device_gradients;
  copies_.clear();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!gradients.has(slot.index)) continue;
    const stc_tensor_info info = stable::check_gradient(host_, gradients.raw(slot.index), slot);
    if (slot.on_host) {
      on_host.push_back({i, dense_data(slot, info, gradients[slot.index])});
    } else {
      device_indices.push_back(i);
      device_gradients.push_back(gradients[slot.index]);
    }
  }
  take_back_skipped(step.step);
  // adamw first: it refuses bad gradients of its own before anything has changed.
  std::vector<stc_tensor> rest;
  for (const uint32_t i : adamw_indices_) rest.push_back(gradients.raw(i));
  adamw_.step(step, rest.data(), static_cast<uint32_t>(rest.size()));
  if (!on_host.empty()) {
    if (step.found_inf != nullptr && stable::read_scalar(host_, step.found_inf, "found_inf") != 0) return;
    const double factor = step.grad_factor_t != nullptr ? stable::read_scalar(host_, step.grad_factor_t, "grad_factor")
                                                        : step.grad_factor;
    on_host_.step(settings_, groups_, step.lr, factor, on_host);
  }
  if (!device_indices.empty()) {
    on_device_.step(settings_, groups_, step, device_indices, device_gradients);
    last_step_ = step.step;
    last_device_indices_ = std::move(device_indices);
  }
}

void Muon::save(stable::StateWriter& writer) const {
  for (const Slot& slot : slots_) {
    const std::string name = slot.name + "/momentum_buffer";
    if (slot.on_host) {
      writer.buffer(name.c_str(), {slot.momentum, static_cast<uint64_t>(slot.numel) * slot.state_size(),
                                   slot.state_dtype(), 2, slot.sizes.data()});
    } else {
      writer.tensor(name, slot.device_momentum);
    }
    writer.number((slot.name + "/step").c_str(), slot.updates);
  }
  adamw_.save(writer);
}

void Muon::load(stable::StateReader& reader) {
  std::vector<std::pair<stc_buffer, int64_t>> found;
  for (const Slot& slot : slots_) {
    found.emplace_back(stable::state_tensor(reader, slot, "momentum_buffer", slot.state_dtype()),
                       stable::state_count(reader, slot, "step"));
  }
  adamw_.load(reader);
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.updates = found[i].second;
    if (slot.on_host) {
      std::memcpy(slot.momentum, found[i].first.data, found[i].first.bytes);
    } else {
      const stable::NoGradGuard no_grad;
      stable::Tensor momentum;
      reader.tensor(slot.name + "/momentum_buffer", momentum);
      stable::copy_(slot.device_momentum, momentum);
    }
  }
  last_step_.reset();
}

void Muon::reset() {
  on_host_.zero();
  on_device_.zero();
  for (Slot& slot : slots_) slot.updates = 0;
  last_step_.reset();
  adamw_.reset();
}

void Muon::set_group(uint32_t index, const Group& group) {
  stable::check_group(index, groups_.size());
  adamw_.set_group(index, group);
  groups_[index] = group;
}

void Muon::set_cautious(bool enabled) {
  if (!adamw_.set_cautious(enabled)) {
    throw Fault(STC_ERROR_UNSUPPORTED, "cautious: plugin adamw has no extension " STC_OPTIMIZER_CAUTIOUS);
  }
  settings_.cautious = enabled;
}

const char* Muon::algorithm(uint32_t index) const {
  if (index >= num_bound_) return nullptr;
  return std::binary_search(adamw_indices_.begin(), adamw_indices_.end(), index) ? "adamw" : "muon";
}

}  // namespace stc::muon

STC_OPTIMIZER_PLUGIN(stc::muon::Muon, "muon", "1.0.0", "Muon for the matrices of linear layers, AdamW for the rest")
