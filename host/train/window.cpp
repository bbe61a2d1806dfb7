// Step 1 of Trainer::step: micro-batches through forward, loss and backward.

#include "host/train/dropout_key.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

/// Batches of a window that are kept for messages and replay; a longer window has no replay.
constexpr size_t kMostKeptBatches = 1024;

double label_count(const Batch& batch, int64_t capacity) {
  return batch.valid_labels >= 0 ? static_cast<double>(batch.valid_labels) : static_cast<double>(capacity);
}

}  // namespace

void Trainer::Impl::micro_batch(Window& window, int64_t index) {
  std::shared_ptr<const Batch> batch;
  {
    const PhaseClock::Scope phase(phases, Phase::kData);
    batch = parts.loader->next();
  }
  const DeviceBatch moved = to_device(batch, at::Device(parts.device_name));

  stc_pass_info info{};
  info.struct_size = sizeof(info);
  info.flags = STC_PASS_TRAINING | (index > 0 ? STC_PASS_ACCUMULATE : 0u);
  info.step = counters.step;
  info.micro_batch = static_cast<uint32_t>(index);
  info.dropout_key = dropout_key(parts.context->seed, counters.step, static_cast<uint64_t>(index));

  const bool by_tokens = settings.run.loss_average == "tokens";
  const double labels = label_count(*batch, capacity);
  info.weight = (by_tokens ? labels / static_cast<double>(capacity) : 1.0) * window.loss_scale;

  PassOutcome outcome = run_pass(info, moved);
  if (window.batches.size() < kMostKeptBatches) {
    window.batches.push_back(batch);
    window.losses.push_back(outcome.loss);
    window.dropout_keys.push_back(info.dropout_key);
  }
  const double weight = by_tokens ? labels : 1.0;
  add_loss(window, outcome.loss, weight);
  if (index + 1 == settings.data.accumulation_steps) window.auxiliary = std::move(outcome.auxiliary);
  window.valid_labels += weight;
  window.micro_batches += 1;
  window.rows += batch->rows;
  window.tokens += batch->tokens;
}

/// A masked micro-batch weighs nothing, whatever its model returned for it.
void Trainer::Impl::add_loss(Window& window, const at::Tensor& loss, double weight) const {
  if (weight <= 0) return;
  if (!deferred) {
    window.weighted_loss += weight * loss.item<double>();
    return;
  }
  const at::Tensor part = loss.to(loss.is_mps() ? at::kFloat : at::kDouble).mul(weight);
  window.device_loss = window.device_loss.defined() ? window.device_loss.add(part) : part;
}

PassOutcome Trainer::Impl::run_pass(const stc_pass_info& info, const DeviceBatch& batch) {
  if (fused) {
    PassOutcome outcome = pass.fused(info, batch);
    if (outcome.loss.defined()) return outcome;
    if (settings.run.fast_path == "require") {
      throw TrainError("run.fast_path: require, but the model hands a batch back: " + outcome.reason, {},
                       parts.config->where("run.fast_path"));
    }
    fused = false;
    Event event("compile");
    event.add("enabled", false).add("reason", outcome.reason);
    parts.events->emit(std::move(event));
  }
  return pass.autograd(info, batch);
}

void Trainer::Impl::choose_path() {
  const std::string& wish = settings.run.fast_path;
  if (wish == "off") {
    no_fused_reason = "run.fast_path is off";
  } else if (!parts.model->has_loss_and_grad()) {
    no_fused_reason = "model " + parts.model->name() + " has no fused pass";
  }
  fused = no_fused_reason.empty();
  if (fused || wish != "require") return;
  throw TrainError("run.fast_path: require, but " + no_fused_reason, "use auto or off",
                   parts.config->where("run.fast_path"));
}

void Trainer::Impl::emit_path() {
  if (settings.run.fast_path == "off" && !settings.compile) return;
  Event event("compile");
  event.add("enabled", fused);
  if (!fused) event.add("reason", no_fused_reason);
  parts.events->emit(std::move(event));
}

void Trainer::Impl::choose_streams() {
  if (!settings.ooo_backprop) return;
  ooo.emplace(at::Device(parts.device_name), parts.model->stages(), settings.ooo_streams, settings.compile);
  const StageReport& report = ooo->report();
  Event event("ooo_backprop");
  event.add("enabled", report.enabled);
  if (!report.enabled) event.add("reason", report.reason);
  if (!settings.compile) event.add("streams", report.streams).add("stages", report.stages);
  parts.events->emit(std::move(event));
  if (!report.enabled) return;
  parts.context->stage = [this](const char* stage, bool begin) { begin ? ooo->begin(stage) : ooo->end(stage); };
}

bool Trainer::Impl::stop_requested() const { return parts.context->stop_signal.load() != 0; }

}  // namespace stc::host
