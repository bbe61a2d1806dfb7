#include "adamw.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace stc::adamw {
namespace {

Element element_of(int32_t dtype) {
  switch (dtype) {
    case STC_DTYPE_FLOAT64: return Element::kFloat64;
    case STC_DTYPE_FLOAT16: return Element::kFloat16;
    case STC_DTYPE_BFLOAT16: return Element::kBFloat16;
    default: return Element::kFloat32;
  }
}

}  // namespace

AdamW::AdamW(const Params& params, stc::Host host) : host_(host), on_host_(host) {
  if (params.betas.size() != 2) {
    throw Fault::config("betas", "got " + std::to_string(params.betas.size()) + " values, expected 2");
  }
  settings_.beta1 = params.betas[0];
  settings_.beta2 = params.betas[1];
  settings_.eps = params.eps;
  settings_.fused = params.fused.value_or(true);
  fused_demanded_ = params.fused.value_or(false);
}

void AdamW::bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
  if (!slots_.empty()) throw Fault(STC_ERROR_STATE, "bind: called twice");
  groups_ = groups;
  for (const stable::BoundParameter& parameter : parameters) {
    Slot& slot = slots_.emplace_back();
    static_cast<stable::BoundInfo&>(slot) = stable::describe(host_, parameter, groups.size());
    slot.element = element_of(slot.dtype);
  }
  stable::refuse_shared_memory(slots_);
  on_host_.bind(slots_);
  on_device_.bind(slots_);
  settings_.fused_on_device = settings_.fused && on_device_.can_fuse(host_, fused_demanded_);
}

void AdamW::step(const Step& step, const stable::Gradients& gradients) {
  stable::check_count(gradients, slots_.size());
  std::vector<HostGradient> on_host;
  std::vector<uint32_t> device_indices;
  std::vector<stable::Tensor> device_gradients;
  on_host_.clear_copies();
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    if (!gradients.has(i)) continue;
    const Slot& slot = slots_[i];
    const stc_tensor_info info = stable::check_gradient(host_, gradients.raw(i), slot);
    if (slot.on_host) {
      on_host.push_back({i, info.is_contiguous != 0 ? info.data : on_host_.copy_strided(info, slot.numel)});
    } else {
      device_indices.push_back(i);
      device_gradients.push_back(gradients[i]);
    }
  }
  // The number of updates did not grow: the device skipped the last one.
  if (last_step_ && *last_step_ == step.step) {
    for (const uint32_t i : last_device_indices_) --slots_[i].updates;
    last_step_.reset();
  }
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

void AdamW::save(stable::StateWriter& writer) const {
  for (const Slot& slot : slots_) {
    if (slot.on_host) {
      const stc_buffer exp_avg{slot.exp_avg, static_cast<uint64_t>(slot.numel) * slot.state_size(), slot.state_dtype(),
                               static_cast<int32_t>(slot.sizes.size()), slot.sizes.data()};
      stc_buffer exp_avg_sq = exp_avg;
      exp_avg_sq.data = slot.exp_avg_sq;
      writer.buffer((slot.name + "/exp_avg").c_str(), exp_avg);
      writer.buffer((slot.name + "/exp_avg_sq").c_str(), exp_avg_sq);
    } else {
      writer.tensor(slot.name + "/exp_avg", slot.device_exp_avg);
      writer.tensor(slot.name + "/exp_avg_sq", slot.device_exp_avg_sq);
    }
    writer.number((slot.name + "/step").c_str(), slot.updates);
  }
}

void AdamW::load(stable::StateReader& reader) {
  struct Found {
    stc_buffer exp_avg, exp_avg_sq;
    int64_t updates;
  };
  std::vector<Found> all;
  for (const Slot& slot : slots_) {
    const int32_t dtype = slot.on_host ? slot.state_dtype() : slot.dtype;
    all.push_back({stable::state_tensor(reader, slot, "exp_avg", dtype),
                   stable::state_tensor(reader, slot, "exp_avg_sq", dtype), stable::state_count(reader, slot, "step")});
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.updates = all[i].updates;
    if (slot.on_host) {
      if (slot.numel == 0) continue;
      std::memcpy(slot.exp_avg, all[i].exp_avg.data, all[i].exp_avg.bytes);
      std::memcpy(slot.exp_avg_sq, all[i].exp_avg_sq.data, all[i].exp_avg_sq.bytes);
    } else {
      const stable::NoGradGuard no_grad;
      stable::Tensor exp_avg, exp_avg_sq;
      reader.tensor(slot.name + "/exp_avg", exp_avg);
      reader.tensor(slot.name + "/exp_avg_sq", exp_avg_sq);
      on_device_.copy_state(slot, exp_avg, exp_avg_sq);
    }
  }
  last_step_.reset();
}

void AdamW::reset() {
  on_host_.zero();
  on_device_.zero();
  for (Slot& slot : slots_) slot.updates = 0;
  last_step_.reset();
}

void AdamW::set_group(uint32_t index, const Group& group) {
  stable::check_group(index, groups_.size());
  groups_[index] = group;
}

}  // namespace stc::adamw

STC_OPTIMIZER_PLUGIN(stc::adamw::AdamW, "adamw", "1.0.0", "AdamW with decoupled weight decay")
