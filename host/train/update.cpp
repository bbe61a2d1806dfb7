// Step 2 of Trainer::step: unscale, clip, update, clear.

#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {

Trainer::Impl::Impl(TrainerParts trainer_parts) : parts(trainer_parts), settings(*parts.settings) {
  on_cpu = parts.device_name == "cpu";
  capacity = settings.data.micro_batch_size * settings.data.block_size;
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
  parts.optimizer->bind(trainable, std::vector<uint32_t>(trainable.size(), 0),
                        {OptimizerGroup{1.0, settings.optimizer.weight_decay}});
  routing = algorithm_shares(*parts.optimizer, trainable);
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

double Trainer::Impl::gradient_norm(const std::vector<at::Tensor>& grads) const {
  std::vector<at::Tensor> present;
  for (const at::Tensor& gradient : grads) {
    if (gradient.defined()) present.push_back(gradient);
  }
  if (present.empty()) return 0.0;
  const at::Tensor norms = at::stack(at::_foreach_norm(present, 2));
  return at::linalg_vector_norm(norms.to(at::kDouble), 2).item<double>();
}

double Trainer::Impl::gradient_factor(const Window& window) const {
  // Micro-batches accumulated n_i / capacity; the window's mean needs n_i / N.
  double factor = 1.0;
  if (window.valid_labels > 0) {
    factor = settings.run.loss_average == "tokens"
                 ? static_cast<double>(capacity) / window.valid_labels
                 : 1.0 / static_cast<double>(window.micro_batches);
  }
  return parts.plan.scaler ? factor / parts.precision->scale() : factor;
}

double Trainer::Impl::window_loss(const Window& window) const {
  if (window.valid_labels <= 0) return 0.0;
  const double sum =
      window.device_loss.defined()
          ? window.device_loss.item<double>() + window.weighted_loss
          : window.weighted_loss;
  return sum / window.valid_labels;
}

void Trainer::Impl::check_finite(const Window& window, double loss) const {
  const bool bad_loss = !std::isfinite(loss);
  const bool bad_norm = window.grad_norm && !std::isfinite(*window.grad_norm);
  if (!bad_loss && !bad_norm) return;
  std::string where;
  for (const std::string& batch : window.where) where += (where.empty() ? "" : "; ") + batch;
  throw NonFiniteError(std::string(bad_loss ? "loss" : "gradient norm") + ": not finite at step " +
                       std::to_string(counters.step + 1) + ", batch " + where,
                   "the weights of the last finite step are kept; lower optimizer.lr, set "
                   "optimizer.grad_clip, or look at the batch");
}

bool Trainer::update_parameters(Window& window) {
  Impl& self = *impl_;
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = self.gradients();
  double factor = self.gradient_factor(window);
  const std::optional<double> clip = self.settings.optimizer.grad_clip;
  if (clip || self.on_cpu || self.parts.plan.scaler) {
    window.grad_norm = self.gradient_norm(gradients) * factor;
  }
  if (self.parts.plan.scaler) {
    const bool overflow = !std::isfinite(*window.grad_norm);
    self.parts.precision->update(overflow);
    if (overflow) return skip_update();
    self.skips_in_a_row = 0;
  }
  if (self.on_cpu) self.check_finite(window, self.window_loss(window));
  // As torch.nn.utils.clip_grad_norm_: scale by max_norm / (norm + 1e-6) when that is below one.
  if (clip) factor *= std::min(1.0, *clip / (*window.grad_norm + 1e-6));

  std::vector<stc_tensor> handles;
  handles.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients) {
    handles.push_back(gradient.defined() ? borrow_handle(gradient) : nullptr);
  }
  stc_step_info info{};
  info.struct_size = sizeof(info);
  info.lr = window.lr;
  info.step = self.counters.step;
  info.grad_factor = factor;
  self.parts.optimizer->step(info, handles);
  self.clear_gradients();
  self.parts.model->parameters_changed();
  return true;
}

bool Trainer::skip_update() {
  Impl& self = *impl_;
  self.clear_gradients();
  self.step_begin = self.parts.loader->position();
  Event event("optimizer_step_skipped");
  event.add("step", static_cast<int64_t>(self.counters.step + 1)).add("reason", "grad_scaler_overflow");
  self.parts.events->emit(std::move(event));
  if (++self.skips_in_a_row > self.settings.precision.max_skipped_steps) {
    throw TrainError("precision: " + std::to_string(self.skips_in_a_row) +
                         " updates in a row overflowed, precision.max_skipped_steps is " +
                         std::to_string(self.settings.precision.max_skipped_steps),
                     "train in bf16 or fp32, or lower optimizer.lr");
  }
  return false;
}

}  // namespace stc::host
