#include "host/train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "host/train/rng_state.hpp"
#include "host/train/schedule.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {

Trainer::Trainer(TrainerParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {
  impl_->bind_optimizer();
}

Trainer::~Trainer() = default;

const Counters& Trainer::counters() const { return impl_->counters; }

const std::vector<AlgorithmShare>& Trainer::routing() const { return impl_->routing; }

FitResult Trainer::fit() {
  Impl& self = *impl_;
  const uint64_t target = std::max<uint64_t>(self.counters.step, self.settings.run.target_step);
  self.first_step = self.counters.step;
  self.step_begin = self.parts.loader->position();
  self.parts.model->set_training(true);
  self.choose_path();
  self.emit_train_start(target);
  self.train_start_s = self.parts.events->elapsed_s();
  self.rates.start(RateMeter::Clock::now());

  FitResult result;
  while (self.counters.step < target && !self.stop_requested()) {
    try {
      step();
    } catch (const Cancelled&) {
      // A signal ended a blocked read: the window under way is dropped, the last step is kept.
      if (!self.stop_requested()) throw;
      self.clear_gradients();
      break;
    } catch (const NonFiniteError&) {
      // The update was not made: the last step is whole, and worth keeping.
      self.clear_gradients();
      self.save_last_step();
      throw;
    }
  }
  if (self.counters.step < target) result.reason = StopReason::kSignal;

  self.save_last_step();

  Event end("train_end");
  end.add("steps", static_cast<int64_t>(self.counters.step))
      .add("elapsed_s", self.parts.events->elapsed_s() - self.train_start_s)
      .add("loss", self.last_loss ? FieldValue(*self.last_loss) : FieldValue());
  self.parts.events->emit(std::move(end));
  result.counters = self.counters;
  result.loss = self.last_loss;
  result.last_save_failed = self.last_save_failed;
  return result;
}

bool Trainer::step() {
  Window window;
  run_micro_batches(window);
  if (!update_parameters(window)) return false;
  advance_schedule(window);
  meet_nodes(window);
  reset_inner_optimizer(window);
  record(window);
  checkpoint_when_due(window);
  return true;
}

void Trainer::run_micro_batches(Window& window) {
  Impl& self = *impl_;
  self.rng_at_step_begin = current_rng_state();
  for (int64_t index = 0; index < self.settings.data.accumulation_steps; ++index) {
    self.micro_batch(window, index);
  }
  window.lr = self.settings.optimizer.lr *
              schedule_factor(self.settings.scheduler, static_cast<int64_t>(self.counters.step));
}

void Trainer::advance_schedule(Window& window) {
  // The factor is a function of completed steps, so the counters are the schedule's whole state.
  Impl& self = *impl_;
  self.counters.step += 1;
  self.counters.samples += static_cast<uint64_t>(window.rows);
  self.counters.tokens += static_cast<uint64_t>(window.tokens);
  self.counters.micro_batches += static_cast<uint64_t>(window.micro_batches);
  self.step_begin = self.parts.loader->position();
  self.rates.add(RateMeter::Clock::now(), window.rows, window.tokens);
}

void Trainer::meet_nodes(Window&) {
  // A run without distributed.enabled has no coordinator; with it, composition refuses the run in
  // this version, so there is nobody to meet.
}

void Trainer::reset_inner_optimizer(Window&) {}

void Trainer::record(Window& window) {
  Impl& self = *impl_;
  const auto step = static_cast<int64_t>(self.counters.step);
  const bool last = self.counters.step >= static_cast<uint64_t>(self.settings.run.target_step);
  const bool due = step % self.settings.logging.every_steps == 0;
  if (!due && !last && !self.on_cpu) return;
  const double loss = self.window_loss(window);
  self.last_loss = loss;
  if (!due) return;
  const RateMeter::Rates rates = self.rates.rates();
  Event event("train_step");
  event.add("step", step)
      .add("loss", loss)
      .add("lr", window.lr)
      .add("steps_per_sec", rates.steps_per_sec)
      .add("samples_per_sec", rates.samples_per_sec)
      .add("tokens_per_sec", rates.tokens_per_sec)
      .add("samples", static_cast<int64_t>(self.counters.samples))
      .add("tokens", static_cast<int64_t>(self.counters.tokens))
      .add("micro_batches", window.micro_batches)
      .add("recent_tokens_per_sec", rates.recent_tokens_per_sec);
  if (window.grad_norm) event.add("grad_norm", *window.grad_norm);
  event.add("lr_next", self.settings.optimizer.lr * schedule_factor(self.settings.scheduler, step));
  for (const auto& [name, value] : window.auxiliary) event.add(name, value);
  {
    const std::lock_guard lock(self.parts.context->metrics_mutex);
    for (const auto& [name, value] : self.parts.context->metrics) event.add(name, value);
    self.parts.context->metrics.clear();
  }
  self.parts.events->emit(std::move(event));
}

void Trainer::checkpoint_when_due(Window&) {
  Impl& self = *impl_;
  if (self.parts.store == nullptr) return;
  self.report_saves(self.parts.store->poll());
  if (self.counters.step % static_cast<uint64_t>(self.settings.checkpoint.every_steps) != 0) return;
  self.save(self.step_begin, current_rng_state());
}

}  // namespace stc::host
