/// \file
/// Where the time of training goes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

namespace stc::host {

enum class Phase : unsigned char {
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kSync,
  kEvaluation,
  kCheckpoint,
  kLogging,
  kOther,
};

/// As in the fields `<name>_s` of train_step and in the trace.
constexpr const char* phase_name(Phase phase) {
  constexpr std::array<const char*, 9> kNames = {"data",       "forward",    "backward", "optimizer", "sync",
                                                 "evaluation", "checkpoint", "logging",  "other"};
  return kNames[static_cast<size_t>(phase)];
}

/// Adds up seconds by phase, on the host's clock: on an asynchronous device a phase lasts as long as the
/// host needs to issue it. A phase entered within another one interrupts that. [train-thread]
class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::array<double, 9>;
  /// Told each begin (true) and end of a phase.
  using Observer = std::function<void(const char* name, bool begin)>;

  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase) : clock_(clock), phase_(phase), before_(clock.change(phase)) {
      if (clock_.observer_) clock_.observer_(phase_name(phase_), true);
    }
    ~Scope() {
      if (clock_.observer_) clock_.observer_(phase_name(phase_), false);
      clock_.change(before_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseClock& clock_;
    Phase phase_;
    Phase before_;
  };

  void observe(Observer observer) { observer_ = std::move(observer); }
  /// Counting starts anew.
  void start() {
    seconds_ = {};
    last_ = Clock::now();
  }
  /// Seconds in each phase since the last take or start; they add up to the time between.
  Seconds take() {
    change(current_);
    return std::exchange(seconds_, Seconds{});
  }

 private:
  Phase change(Phase next) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<size_t>(current_)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return std::exchange(current_, next);
  }

  Clock::time_point last_ = Clock::now();
  Phase current_ = Phase::kOther;
  Seconds seconds_{};
  Observer observer_;
};

}  // namespace stc::host
