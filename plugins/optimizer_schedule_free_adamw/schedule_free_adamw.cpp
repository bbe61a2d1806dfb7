#include "schedule_free_adamw.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <stc/stable/update.hpp>

namespace stc::schedule_free_adamw {
namespace {

using stable::Tensor;

double number(const stable::StateReader& reader, const Slot& slot, const char* state) {
  const std::string name = slot.name + "/" + state;
  const auto value = reader.number<double>(name.c_str());
  if (!value) throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": is missing");
  return *value;
}

}  // namespace

ScheduleFreeAdamW::ScheduleFreeAdamW(const Params& params, stc::Host host) : host_(host) {
  if (params.betas.size() != 2) {
    throw Fault::config("betas", "got " + std::to_string(params.betas.size()) + " values, expected 2");
  }
  beta1_ = params.betas[0];
  beta2_ = params.betas[1];
  if (beta1_ == 0) throw Fault::config("betas", "got 0 as the first, expected > 0: it weighs the average");
  eps_ = params.eps;
  weight_lr_power_ = params.weight_lr_power;
}

void ScheduleFreeAdamW::bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
  const stable::NoGradGuard no_grad;
  groups_ = groups;
  for (const stable::BoundParameter& parameter : parameters) {
    Slot& slot = slots_.emplace_back();
    static_cast<stable::BoundInfo&>(slot) = stable::describe(host_, parameter, groups.size());
    slot.z = stable::zeros_like(stable::to(stable::detach(slot.tensor), slot.state_dtype()));
    slot.exp_avg_sq = stable::zeros_like(slot.z);
  }
  stable::refuse_shared_memory(slots_);
}

void ScheduleFreeAdamW::step(const Step& step, const stable::Gradients& gradients) {
  if (mode_ != STC_MODE_TRAIN) throw Fault(STC_ERROR_STATE, "the parameters hold their averages, expected mode train");
  stable::check_count(gradients, slots_.size());
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    if (!gradients.has(i)) continue;
    stable::check_gradient(host_, gradients.raw(i), slots_[i]);
    indices.push_back(i);
  }
  // The number of updates did not grow: the device skipped the last one.
  if (last_step_ == step.step) {
    for (const uint32_t i : last_indices_) slots_[i].counters = slots_[i].before;
  }
  const bool on_host = !indices.empty() && slots_[indices[0]].on_host;
  if (on_host && step.found_inf != nullptr && stable::read_scalar(host_, step.found_inf, "found_inf") != 0) {
    last_step_.reset();
    return;
  }
  const stable::NoGradGuard no_grad;
  for (const uint32_t i : indices) update(step, slots_[i], gradients[i]);
  last_step_ = step.step;
  last_indices_ = std::move(indices);
}

// Defazio and others 2024, arXiv:2405.15682, algorithm 1, with x eliminated: (1 - c) x + c z moves y by
// c (z - y) before the gradient does, and the gradient moves z by -lr and x by -lr c.
void ScheduleFreeAdamW::update(const Step& step, Slot& slot, const Tensor& gradient) {
  const Group& group = groups_[slot.group];
  const double rate = step.lr * group.lr_scale;
  slot.before = slot.counters;
  Counters& c = slot.counters;
  const Tensor y = stable::to(slot.tensor, slot.state_dtype());
  if (c.updates == 0) stable::copy_(slot.z, y);
  ++c.updates;
  c.lr_max = std::max(c.lr_max, rate);
  const double weight = std::pow(c.lr_max, weight_lr_power_);
  c.weight_sum += weight;
  const double share = c.weight_sum > 0 ? weight / c.weight_sum : 0;
  const double correction = 1 - std::pow(beta2_, static_cast<double>(c.updates));

  const Tensor g = stable::scaled_gradient(gradient, step, slot.state_dtype());
  const Tensor v = stable::addcmul(stable::mul(slot.exp_avg_sq, beta2_), g, g, 1 - beta2_);
  const Tensor root = stable::add(stable::sqrt(stable::mul(v, 1 / correction)), eps_);
  const Tensor direction = stable::add(stable::div(g, root), y, group.weight_decay);
  const Tensor towards_z = stable::add(y, stable::sub(slot.z, y), share);
  stable::write(slot.tensor, stable::add(towards_z, direction, rate * (beta1_ * (1 - share) - 1)), step);
  stable::write(slot.z, stable::add(slot.z, direction, -rate), step);
  stable::write(slot.exp_avg_sq, v, step);
}

void ScheduleFreeAdamW::show_average(Slot& slot) {
  if (slot.counters.updates == 0) return;  // x, y and z are still one
  const Tensor p = stable::detach(slot.tensor);
  slot.kept_y = stable::clone(p);
  const Tensor y = stable::to(p, slot.state_dtype());
  stable::copy_(p, stable::add(y, stable::sub(slot.z, y), 1 - 1 / beta1_));
}

void ScheduleFreeAdamW::set_mode(int32_t mode) {
  const stable::NoGradGuard no_grad;
  const bool trained = mode_ == STC_MODE_TRAIN;
  mode_ = mode;
  if (trained == (mode == STC_MODE_TRAIN)) return;
  for (Slot& slot : slots_) {
    if (trained) {
      show_average(slot);
    } else if (slot.kept_y.defined()) {
      stable::copy_(stable::detach(slot.tensor), slot.kept_y);
      slot.kept_y = Tensor();
    }
  }
}

void ScheduleFreeAdamW::save(stable::StateWriter& writer) const {
  for (const Slot& slot : slots_) {
    writer.tensor(slot.name + "/z", slot.z);
    writer.tensor(slot.name + "/exp_avg_sq", slot.exp_avg_sq);
    writer.number((slot.name + "/step").c_str(), slot.counters.updates);
    writer.number((slot.name + "/weight_sum").c_str(), slot.counters.weight_sum);
    writer.number((slot.name + "/lr_max").c_str(), slot.counters.lr_max);
    if (mode_ == STC_MODE_SAVE && slot.kept_y.defined()) writer.tensor(slot.name + "/y", slot.kept_y);
  }
}

void ScheduleFreeAdamW::load(stable::StateReader& reader) {
  std::vector<Counters> all;
  for (const Slot& slot : slots_) {
    stable::state_tensor(reader, slot, "z", slot.state_dtype());
    stable::state_tensor(reader, slot, "exp_avg_sq", slot.state_dtype());
    stable::find_state_tensor(reader, slot, "y", slot.dtype);
    all.push_back({stable::state_count(reader, slot, "step"), number(reader, slot, "weight_sum"),
                   number(reader, slot, "lr_max")});
  }
  const stable::NoGradGuard no_grad;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    Tensor z, exp_avg_sq, y;
    reader.tensor(slot.name + "/z", z);
    reader.tensor(slot.name + "/exp_avg_sq", exp_avg_sq);
    stable::copy_(slot.z, z);
    stable::copy_(slot.exp_avg_sq, exp_avg_sq);
    if (reader.tensor(slot.name + "/y", y)) stable::copy_(stable::detach(slot.tensor), y);
    slot.counters = all[i];
    slot.kept_y = Tensor();
  }
  mode_ = STC_MODE_TRAIN;
  last_step_.reset();
}

void ScheduleFreeAdamW::reset() {
  const stable::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    slot.counters = {};
    stable::zero_(slot.exp_avg_sq);
    slot.kept_y = Tensor();  // whatever the parameters hold now is where training starts
  }
  last_step_.reset();
}

void ScheduleFreeAdamW::set_group(uint32_t index, const Group& group) {
  stable::check_group(index, groups_.size());
  groups_[index] = group;
}

}  // namespace stc::schedule_free_adamw

STC_OPTIMIZER_PLUGIN(stc::schedule_free_adamw::ScheduleFreeAdamW, "schedule_free_adamw", "1.0.0",
                     "AdamW that averages its iterates in place of a schedule")
