#include "host/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <ATen/core/grad_mode.h>

#include "host/train/rng_state.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

/// How long a step under way may go on after a signal; a longer one is dropped and begun again on resume.
constexpr std::chrono::seconds kFinishWindow{5};

}  // namespace

Trainer::Trainer(TrainerParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {
  impl_->choose_path();
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
  self.emit_path();
  self.choose_streams();
  emit_shape_report(self.parts.shapes, *self.parts.events);
  self.emit_train_start(target);
  self.train_start_s = self.parts.events->elapsed_s();
  self.rates.start(RateMeter::Clock::now());
  self.phases.start();

  FitResult result;
  self.review_resumed_step();
  while (!self.ending && !finished(target)) {
    try {
      step();
    } catch (const Cancelled&) {
      // A signal ended a blocked read: the window under way is dropped, the last step is kept.
      if (!self.stop_requested()) throw;
      self.clear_gradients();
    } catch (const NonFiniteError&) {
      // The update was not made: the last step is worth keeping, unless its own update did the damage.
      self.clear_gradients();
      if (!self.spoiled_weight()) self.save_last_step();
      throw;
    }
  }
  if (self.counters.step < target) result.reason = self.ending.value_or(StopReason::kSignal);

  self.save_last_step();
  self.emit_train_end(result.reason);
  result.counters = self.counters;
  result.loss = self.last_loss;
  result.last_save_failed = self.last_save_failed;
  result.last_save_error = self.last_save_error;
  return result;
}

/// A device may still take back the last step.
bool Trainer::finished(uint64_t target) {
  Impl& self = *impl_;
  if (self.counters.step < target && !self.stop_requested()) return false;
  const at::NoGradGuard no_grad;
  return self.settle_pending() || self.stop_requested();
}

bool Trainer::step() {
  Window window;
  run_micro_batches(window);
  begin_saving();
  if (!update_parameters(window)) return false;
  if (!advance_schedule(window)) return false;
  meet_nodes(window);
  reset_inner_optimizer(window);
  average_weights(window);
  record(window);
  review(window);
  checkpoint_when_due(window);
  if (window.refused) impl_->pending.emplace(std::move(window));
  return true;
}

/// Data, model and loss work: whatever a wrong start can break is behind.
void Trainer::begin_saving() {
  Impl& self = *impl_;
  if (self.saving_begun || !self.parts.begin_saving) return;
  self.parts.begin_saving();
  self.saving_begun = true;
}

void Trainer::run_micro_batches(Window& window) {
  Impl& self = *impl_;
  self.rng_at_step_begin = current_rng_state();
  if (self.parts.plan.scaler) window.loss_scale = self.parts.precision->scale();
  std::optional<RateMeter::Clock::time_point> asked_to_stop;
  for (int64_t index = 0; index < self.settings.data.accumulation_steps; ++index) {
    if (self.stop_requested()) {
      const auto now = RateMeter::Clock::now();
      if (!asked_to_stop) asked_to_stop = now;
      if (now - *asked_to_stop > kFinishWindow) throw Cancelled("stopped by a signal");
    }
    self.micro_batch(window, index);
  }
}

bool Trainer::advance_schedule(Window& window) {
  // The factor is a function of completed steps, so the counters are the schedule's whole state.
  Impl& self = *impl_;
  self.counters.step += 1;
  self.counters.samples += static_cast<uint64_t>(window.rows);
  self.counters.tokens += static_cast<uint64_t>(window.tokens);
  self.counters.micro_batches += static_cast<uint64_t>(window.micro_batches);
  self.step_begin = self.parts.loader->position();
  if (self.result_is_due()) {
    const at::NoGradGuard no_grad;
    if (!self.settle(window)) return false;
  }
  self.rates.add(RateMeter::Clock::now(), window.rows, window.tokens);
  return true;
}

/// Whether the outcome of the step just made is looked at now, so that the device must be waited for.
bool Trainer::Impl::result_is_due() const {
  const uint64_t step = counters.step;
  const auto every = [step](int64_t interval) { return step % static_cast<uint64_t>(interval) == 0; };
  return every(settings.logging.every_steps) || step >= static_cast<uint64_t>(settings.run.target_step) ||
         (parts.store != nullptr && every(settings.checkpoint.every_steps)) || stop_requested() ||
         (parts.ema != nullptr && every(settings.ema->every)) ||
         (parts.review != nullptr && settings.evaluation.every_steps && every(*settings.evaluation.every_steps));
}

void Trainer::meet_nodes(Window&) {
  // A run without distributed.enabled has no coordinator; with it, composition refuses the run in
  // this version, so there is nobody to meet.
}

void Trainer::reset_inner_optimizer(Window&) {}

void Trainer::record(Window& window) {
  Impl& self = *impl_;
  if (self.deferred && !self.result_is_due()) return;
  const PhaseClock::Scope phase(self.phases, Phase::kLogging);
  self.last_loss = self.window_loss(window);
  if (self.counters.step % static_cast<uint64_t>(self.settings.logging.every_steps) != 0) return;
  self.emit_train_step(window);
}

void Trainer::checkpoint_when_due(Window&) {
  Impl& self = *impl_;
  if (self.parts.store == nullptr) return;
  self.report_saves(self.parts.store->poll());
  const auto interval = static_cast<uint64_t>(self.settings.checkpoint.every_steps);
  if (self.counters.step % interval != 0 && !self.best) return;
  self.save(self.step_begin, current_rng_state());
}

}  // namespace stc::host
