// Step 2 of Trainer::step: unscale, clip, update, clear.

#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "host/train/gradient_norm.hpp"
#include "host/train/groups.hpp"
#include "host/train/schedule.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

// As torch.nn.utils.clip_grad_norm_: scale by max_norm / (norm + 1e-6) when that is below one.
constexpr double kClipGuard = 1e-6;

}  // namespace

Trainer::Impl::Impl(TrainerParts trainer_parts)
    : parts(trainer_parts),
      settings(*parts.settings),
      pass(*parts.model, parts.plan, at::Device(parts.device_name), phases) {
  deferred = parts.deferred_reads.value_or(parts.device_name != "cpu");
  capacity = settings.data.micro_batch_size * settings.data.block_size;
  if (parts.context->trace) phases.observe(parts.context->trace);
}

void Trainer::Impl::bind_optimizer() {
  const std::vector<ModelParameter>& all = parts.model->parameters();
  for (size_t i = 0; i < all.size(); ++i) {
    const at::Tensor& tensor = to_tensor(all[i].tensor);
    parameter_count += tensor.numel();
    if (!all[i].trainable) continue;
    trainable.push_back(&all[i]);
    trainable_tensors.push_back(tensor);
    const stc_tensor own = parts.model->gradient(i);
    owned_gradients.push_back(own != nullptr ? to_tensor(own) : at::Tensor());
  }
  if (trainable.empty()) {
    throw TrainError("model " + parts.model->name() + ": has no trainable parameter");
  }
  bind_groups();
  routing = algorithm_shares(*parts.optimizer, trainable);
}

void Trainer::Impl::bind_groups() {
  const Location groups_at = parts.config->where("optimizer.groups");
  const Location muon_lr_at = parts.config->where("optimizer.muon_lr");
  const GroupPlan plan = plan_groups(trainable, {}, settings.optimizer, groups_at, muon_lr_at);
  if (!settings.optimizer.muon_lr) return parts.optimizer->bind(trainable, plan.group, plan.groups);
  // What goes to Muon is known once it is bound: until then each parameter is a group of its own.
  std::vector<uint32_t> own(trainable.size());
  std::vector<OptimizerGroup> groups;
  for (uint32_t i = 0; i < own.size(); ++i) {
    own[i] = i;
    groups.push_back(plan.groups[plan.group[i]]);
  }
  parts.optimizer->bind(trainable, own, groups);
  std::vector<std::string> algorithms;
  for (uint32_t i = 0; i < own.size(); ++i) algorithms.push_back(parts.optimizer->algorithm(i));
  const GroupPlan routed = plan_groups(trainable, algorithms, settings.optimizer, groups_at, muon_lr_at);
  for (uint32_t i = 0; i < own.size(); ++i) parts.optimizer->set_group(i, routed.groups[routed.group[i]]);
}

std::vector<at::Tensor> Trainer::Impl::gradients() const {
  std::vector<at::Tensor> result;
  result.reserve(trainable_tensors.size());
  for (size_t i = 0; i < trainable_tensors.size(); ++i) {
    result.push_back(owned_gradients[i].defined() ? owned_gradients[i] : trainable_tensors[i].grad());
  }
  return result;
}

void Trainer::Impl::clear_gradients() {
  // Buffers of the model's own are overwritten by the next window.
  for (size_t i = 0; i < trainable_tensors.size(); ++i) {
    if (!owned_gradients[i].defined()) trainable_tensors[i].mutable_grad() = at::Tensor();
  }
}

/// 0-d, on the device of the gradients.
at::Tensor Trainer::Impl::gradient_norm(const std::vector<at::Tensor>& grads) const {
  if (trainable_tensors.front().is_cpu()) {
    if (const std::optional<double> norm = host_gradient_norm(grads)) return at::full({}, *norm, at::kDouble);
  }
  std::vector<at::Tensor> present;
  for (const at::Tensor& gradient : grads) {
    if (gradient.defined()) present.push_back(gradient);
  }
  if (present.empty()) return at::zeros({}, trainable_tensors.front().options());
  const at::Tensor norms = at::stack(at::_foreach_norm(present, 2));
  return at::linalg_vector_norm(norms.is_mps() ? norms : norms.to(at::kDouble), 2);
}

double Trainer::Impl::gradient_factor(const Window& window) const {
  // Micro-batches accumulated n_i / capacity; the window's mean needs n_i / N.
  double factor = 1.0;
  if (window.valid_labels > 0) {
    factor = settings.run.loss_average == "tokens" ? static_cast<double>(capacity) / window.valid_labels
                                                   : 1.0 / static_cast<double>(window.micro_batches);
  }
  return factor / window.loss_scale;
}

/// The weighted mean over the window. Waits for the device where it has the loss.
double Trainer::Impl::window_loss(const Window& window) const {
  if (window.valid_labels <= 0) return 0.0;
  const double sum = window.device_loss.defined() ? window.device_loss.item<double>() : window.weighted_loss;
  return sum / window.valid_labels;
}

/// False: the update must not be made.
bool Trainer::Impl::prepare_on_host(Window& window, const std::vector<at::Tensor>& grads, stc_step_info& info) {
  info.grad_factor = gradient_factor(window);
  window.grad_norm = gradient_norm(grads).item<double>() * info.grad_factor;
  if (parts.plan.scaler) {
    const bool overflow = !std::isfinite(*window.grad_norm);
    parts.precision->update(overflow);
    if (overflow) {
      skip_update("grad_scaler_overflow");
      return false;
    }
  }
  const double loss = window_loss(window);
  if (!std::isfinite(loss) || !std::isfinite(*window.grad_norm)) {
    if (!accept_non_finite(window, loss)) return false;
  } else {
    skips_in_a_row = 0;
  }
  if (settings.optimizer.grad_clip) {
    info.grad_factor *= std::min(1.0, *settings.optimizer.grad_clip / (*window.grad_norm + kClipGuard));
  }
  return true;
}

/// The same in tensors: `factor` multiplies the gradients, `refused` is not 0 when nothing may change.
void Trainer::Impl::prepare_on_device(Window& window, const std::vector<at::Tensor>& grads, stc_step_info& info,
                                      at::Tensor& factor, at::Tensor& refused) {
  info.grad_factor = gradient_factor(window);
  window.device_grad_norm = gradient_norm(grads).mul(info.grad_factor);
  factor = at::zeros({}, window.device_grad_norm.options()).add(info.grad_factor);
  if (const std::optional<double> clip = settings.optimizer.grad_clip) {
    const at::Tensor limit = at::full_like(window.device_grad_norm, *clip);
    factor = limit.div(window.device_grad_norm.add(kClipGuard)).clamp_max(1.0).mul(info.grad_factor);
  }
  factor = factor.to(at::kFloat);
  info.grad_factor_t = borrow_handle(factor);
  if (!parts.plan.scaler && settings.run.nan_policy == "continue") return;
  at::Tensor finite = at::isfinite(window.device_grad_norm);
  if (window.device_loss.defined()) finite = finite.logical_and(at::isfinite(window.device_loss));
  refused = finite.logical_not().to(at::kFloat);
  info.found_inf = borrow_handle(refused);
  window.refused.emplace(refused);
}

bool Trainer::update_parameters(Window& window) {
  Impl& self = *impl_;
  const at::NoGradGuard no_grad;
  const PhaseClock::Scope phase(self.phases, Phase::kOptimizer);
  self.settle_pending();  // the rate below is of the steps that were really made
  window.lr =
      self.settings.optimizer.lr * schedule_factor(self.settings.scheduler, static_cast<int64_t>(self.counters.step));
  const std::vector<at::Tensor> gradients = self.gradients();
  stc_step_info info{};
  info.struct_size = sizeof(info);
  info.lr = window.lr;
  info.step = self.counters.step;
  at::Tensor factor, refused;  // alive for the call
  if (self.deferred) {
    self.prepare_on_device(window, gradients, info, factor, refused);
  } else if (!self.prepare_on_host(window, gradients, info)) {
    self.clear_gradients();
    return false;
  }

  std::vector<stc_tensor> handles;
  handles.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients) {
    handles.push_back(gradient.defined() ? borrow_handle(gradient) : nullptr);
  }
  self.parts.optimizer->step(info, handles);
  self.clear_gradients();
  self.parts.model->parameters_changed();
  return true;
}

/// Reads whether the device made the window's update, and takes the step back if it did not.
bool Trainer::Impl::settle(Window& window) {
  if (!window.refused) return true;
  const bool refused = window.refused->value() != 0;
  window.refused.reset();
  if (!refused) {
    if (parts.plan.scaler) parts.precision->update(false);
    skips_in_a_row = 0;
    return true;
  }
  counters.step -= 1;
  counters.samples -= static_cast<uint64_t>(window.rows);
  counters.tokens -= static_cast<uint64_t>(window.tokens);
  counters.micro_batches -= static_cast<uint64_t>(window.micro_batches);
  window.grad_norm = window.device_grad_norm.item<double>();
  if (parts.plan.scaler && !std::isfinite(*window.grad_norm)) {
    parts.precision->update(true);
    skip_update("grad_scaler_overflow");
  } else {
    accept_non_finite(window, window_loss(window));
  }
  return false;
}

bool Trainer::Impl::settle_pending() {
  if (!pending) return true;
  Window window = std::move(*pending);
  pending.reset();
  return settle(window);
}

}  // namespace stc::host
