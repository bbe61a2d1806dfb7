// What the trainer reports: train_start, train_step, train_end.

#include "host/train/schedule.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

/// The event ooo_backprop in one line.
std::string ooo_text(const StageReport& report) {
  if (!report.enabled) return "off: " + report.reason;
  return std::to_string(report.stages) + " stages on " + std::to_string(report.streams) + " streams";
}

}  // namespace

void Trainer::Impl::emit_train_start(uint64_t target) {
  Event event("train_start");
  event.add("start_step", static_cast<int64_t>(counters.step))
      .add("target_step", static_cast<int64_t>(target))
      .add("device", parts.device_name)
      .add("precision", precision_word(parts.plan.compute_dtype))
      .add("accumulation_steps", settings.data.accumulation_steps)
      .add("parameters", parameter_count)
      .add("shape_alignment", parts.shapes.alignment ? FieldValue(*parts.shapes.alignment) : FieldValue())
      .add("shape_warning_count", static_cast<int64_t>(parts.shapes.warnings.size()))
      .add("ooo_backprop", ooo ? FieldValue(ooo_text(ooo->report())) : FieldValue())
      .add("run_id", parts.run_id)
      .add("threads", int64_t{parts.context->device.num_threads})
      .add("dataset", settings.data.plugin)
      .add("optimizer", parts.optimizer->name())
      .add("routing", summary_of(routing))
      .add("path", std::string(fused ? "fused" : "autograd"));
  std::string overrides;
  for (const KeyInfo& key : parts.config->keys()) {
    if (key.origin.source != Origin::Source::kFlag) continue;
    overrides += (overrides.empty() ? "" : " ") + key.path + "=" + parts.config->at(key.path).dump();
  }
  if (!overrides.empty()) event.add("overrides", overrides);
  parts.events->emit(std::move(event));
}

/// \pre the window is settled
void Trainer::Impl::emit_train_step(Window& window) {
  const auto step = static_cast<int64_t>(counters.step);
  const RateMeter::Rates rate = rates.rates();
  Event event("train_step");
  event.add("step", step)
      .add("loss", *last_loss)
      .add("lr", window.lr)
      .add("steps_per_sec", rate.steps_per_sec)
      .add("samples_per_sec", rate.samples_per_sec)
      .add("tokens_per_sec", rate.tokens_per_sec)
      .add("samples", static_cast<int64_t>(counters.samples))
      .add("tokens", static_cast<int64_t>(counters.tokens))
      .add("micro_batches", window.micro_batches)
      .add("recent_tokens_per_sec", rate.recent_tokens_per_sec);
  if (window.device_grad_norm.defined()) window.grad_norm = window.device_grad_norm.item<double>();
  if (window.grad_norm) event.add("grad_norm", *window.grad_norm);
  event.add("lr_next", settings.optimizer.lr * schedule_factor(settings.scheduler, step));
  const PhaseClock::Seconds seconds = phases.take();
  for (size_t i = 0; i < seconds.size(); ++i) {
    event.add(std::string(phase_name(static_cast<Phase>(i))) + "_s", seconds[i]);
  }
  for (const auto& [name, value] : window.auxiliary) event.add(name, value.to(at::kDouble).item<double>());
  {
    const std::lock_guard lock(parts.context->metrics_mutex);
    for (const auto& [name, value] : parts.context->metrics) event.add(name, value);
    parts.context->metrics.clear();
  }
  parts.events->emit(std::move(event));
}

void Trainer::Impl::emit_train_end(StopReason reason) {
  Event end("train_end");
  end.add("steps", static_cast<int64_t>(counters.step))
      .add("elapsed_s", parts.events->elapsed_s() - train_start_s)
      .add("loss", last_loss ? FieldValue(*last_loss) : FieldValue())
      .add("reason", stop_reason_word(reason));
  parts.events->emit(std::move(end));
}

}  // namespace stc::host
