// Between steps 6 and 7 of Trainer::step, and what ends a run before its target.

#include "host/train/ema.hpp"
#include "host/train/rng_state.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {

void Trainer::average_weights(Window&) {
  if (impl_->parts.ema != nullptr) impl_->parts.ema->update(impl_->counters.step);
}

void Trainer::review(Window&) {
  Impl& self = *impl_;
  self.best = false;
  const std::optional<double> limit_s = self.settings.run.max_time_s;
  if (limit_s && self.parts.events->elapsed_s() >= *limit_s) self.ending = StopReason::kTime;
  if (self.parts.review != nullptr) self.review_step(self.ending.has_value());
}

void Trainer::Impl::review_step(bool ends) {
  const auto target = static_cast<uint64_t>(settings.run.target_step);
  const PhaseClock::Scope phase(phases, Phase::kEvaluation);
  const auto begin = RateMeter::Clock::now();
  const StepReview::Outcome outcome = parts.review->after_step(counters.step, ends || counters.step >= target);
  rates.exclude(RateMeter::Clock::now() - begin);
  best = outcome.best;
  if (outcome.stop) ending = StopReason::kEarlyStop;
}

void Trainer::Impl::review_resumed_step() {
  if (parts.review == nullptr || counters.step == 0) return;
  if (parts.review->stopped()) {
    ending = StopReason::kEarlyStop;
  } else if (parts.review->owes(counters.step)) {
    review_step(false);
    if (parts.store != nullptr && (best || ending)) save(step_begin, current_rng_state());
  }
}

const char* stop_reason_word(StopReason reason) {
  switch (reason) {
    case StopReason::kTarget: return "target";
    case StopReason::kSignal: return "signal";
    case StopReason::kEarlyStop: return "early_stop";
    case StopReason::kTime: return "max_time";
  }
  return "";
}

}  // namespace stc::host
