// Step 1 of Trainer::step: micro-batches through forward, loss and backward.

#include "host/train/autocast.hpp"
#include "host/train/device_batch.hpp"
#include "host/train/dropout_key.hpp"
#include "host/train/loss.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

double label_count(const Batch& batch, int64_t capacity) {
  return batch.valid_labels >= 0 ? static_cast<double>(batch.valid_labels)
                                 : static_cast<double>(capacity);
}

void collect_auxiliary(const ModelOutputs& outputs, std::vector<std::pair<std::string, double>>& into) {
  for (const auto& [name, handle] : outputs.items) {
    if (name == "loss" || name == "logits") continue;
    const at::Tensor& value = to_tensor(handle.get());
    if (value.numel() != 1 || !at::isFloatingType(value.scalar_type())) continue;
    into.emplace_back(name, value.detach().to(at::kCPU, at::kDouble).item<double>());
  }
}

}  // namespace

void Trainer::Impl::micro_batch(Window& window, int64_t index) {
  const std::shared_ptr<const Batch> batch = parts.loader->next();
  const at::Device device(parts.device_name);
  DeviceBatch moved = to_device(batch, device);

  stc_pass_info info{};
  info.struct_size = sizeof(info);
  info.flags = STC_PASS_TRAINING | (index > 0 ? STC_PASS_ACCUMULATE : 0u);
  info.step = counters.step;
  info.micro_batch = static_cast<uint32_t>(index);
  info.dropout_key = dropout_key(parts.context->seed, counters.step, static_cast<uint64_t>(index));

  const bool by_tokens = settings.run.loss_average == "tokens";
  const double labels = label_count(*batch, capacity);
  const double share = by_tokens ? labels / static_cast<double>(capacity) : 1.0;
  info.weight = share * (parts.plan.scaler ? parts.precision->scale() : 1.0);

  window.where.push_back(batch->where);
  const double weight = by_tokens ? labels : 1.0;
  if (!fused || !run_fused(window, info, moved.inputs, weight)) {
    at::Tensor loss;
    ModelOutputs outputs;
    {
      const AutocastGuard autocast(parts.plan, device);
      outputs = parts.model->forward(info, moved.inputs);
      loss = loss_of(outputs, moved.inputs, parts.model->name());
    }
    const double loss_value = backward(loss, info.weight);
    if (on_cpu) {
      window.add_loss(weight, loss_value);
    } else {
      const at::Tensor part = loss.detach().to(at::kDouble).mul(weight);
      window.device_loss = window.device_loss.defined() ? window.device_loss.add(part) : part;
    }
    if (index + 1 == settings.data.accumulation_steps) collect_auxiliary(outputs, window.auxiliary);
  }
  window.valid_labels += weight;
  window.micro_batches += 1;
  window.rows += batch->rows;
  window.tokens += batch->tokens;
}

double Trainer::Impl::backward(const at::Tensor& loss, double weight) {
  // Read before the backward frees the graph; on the CPU this waits for nothing.
  const double value = on_cpu ? loss.detach().to(at::kDouble).item<double>() : 0.0;
  if (!loss.requires_grad()) {
    throw TrainError("model " + parts.model->name() + ": the loss does not depend on any trainable parameter",
                     "forward must compute it from parameters that require gradients");
  }
  (weight == 1.0 ? loss : loss.mul(weight)).backward();
  return value;
}

bool Trainer::Impl::run_fused(Window& window, const stc_pass_info& info,
                              const std::vector<NamedHandle>& inputs, double weight) {
  ModelOutputs aux;
  std::string reason;
  const TensorHandle loss = parts.model->loss_and_grad(info, inputs, aux, reason);
  if (!loss) {
    if (settings.run.fast_path == "require") {
      throw TrainError("run.fast_path: require, but the model hands a batch back: " + reason, {},
                       parts.config->where("run.fast_path"));
    }
    fused = false;
    Event event("compile");
    event.add("enabled", false).add("reason", reason);
    parts.events->emit(std::move(event));
    return false;
  }
  window.add_loss(weight, to_tensor(loss.get()).to(at::kCPU, at::kDouble).item<double>());
  collect_auxiliary(aux, window.auxiliary);
  return true;
}

void Trainer::Impl::choose_path() {
  const std::string& wish = settings.run.fast_path;
  std::string reason;
  if (wish == "off") {
    reason = "run.fast_path is off";
  } else if (!parts.model->has_loss_and_grad()) {
    reason = "model " + parts.model->name() + " has no fused pass";
  }
  if (!reason.empty() && wish == "require") {
    throw TrainError("run.fast_path: require, but " + reason, "use auto or off",
                     parts.config->where("run.fast_path"));
  }
  fused = reason.empty();
  if (wish == "off" && !settings.compile) return;
  Event event("compile");
  event.add("enabled", fused);
  if (!fused) event.add("reason", reason);
  parts.events->emit(std::move(event));
}

bool Trainer::Impl::stop_requested() const { return parts.context->stop_signal.load() != 0; }

}  // namespace stc::host
