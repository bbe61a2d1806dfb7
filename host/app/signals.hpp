/// \file
/// The signals that end a run, while it trains.
#pragma once

#include "host/services/services.hpp"
#include "host/train/trainer.hpp"

namespace stc::host {

/// While it lives, the first SIGINT, SIGTERM, SIGHUP (of a terminal that goes away) or SIGUSR1 (which batch systems
/// send before their time limit) sets RunContext::stop_signal: the trainer finishes its step, saves and returns. A
/// later one, at least 100 ms after the first (programs such as timeout(1) send each signal twice), ends the process at
/// once with 128 + its number. SIGINT and SIGHUP stay ignored where the process was started so (in the background of a
/// script, under nohup). SIGPIPE is ignored, so that a closed reader of standard output does not end the training. One
/// at a time. [main-thread]
class SignalGuard {
 public:
  /// Borrows `context`. Takes over the handlers; the destructor gives them back.
  explicit SignalGuard(RunContext& context);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The first signal received, 0: none.
  int received() const { return context_.stop_signal.load(); }

 private:
  RunContext& context_;
};

/// 0 for a run that reached its target, 128 + signal for one that a signal ended, kExitSaveFailed when
/// its last checkpoint could not be written.
int exit_code(const FitResult& result, const SignalGuard& signals);

}  // namespace stc::host
