#include "host/app/signals.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "host/errors/error.hpp"
#include "host/events/crash_drain.hpp"

namespace stc::host {
namespace {

constexpr int64_t kSameRequestMs = 100;
constexpr int kLastFlushMs = 100;
constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);
std::atomic<std::atomic<int>*> stop_request{nullptr};
std::atomic<int64_t> first_at_ms{0};
std::array<struct sigaction, kSignals.size()> found_actions;

int64_t monotonic_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

extern "C" void stc_on_stop_signal(int number) {
  const int saved_errno = errno;
  std::atomic<int>* request = stop_request.load();
  const int64_t now_ms = monotonic_ms();
  int64_t never = 0;
  first_at_ms.compare_exchange_strong(never, now_ms);
  int none = 0;
  const bool is_first = request != nullptr && request->compare_exchange_strong(none, number);
  if (!is_first && now_ms - first_at_ms.load() >= kSameRequestMs) {
    drain_events(kLastFlushMs);
    _exit(128 + number);
  }
  errno = saved_errno;
}

}  // namespace

SignalGuard::SignalGuard(RunContext& context) : context_(context) {
  first_at_ms.store(0);
  stop_request.store(&context.stop_signal);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : stc_on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], nullptr, &found_actions[i]);
    // By nohup, or by a shell that started the program in the background and whose Ctrl-C is not meant for it.
    const bool told_to_ignore =
        (kSignals[i] == SIGHUP || kSignals[i] == SIGINT) && found_actions[i].sa_handler == SIG_IGN;
    if (!told_to_ignore) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &found_actions[i], nullptr);
  stop_request.store(nullptr);
}

int exit_code(const FitResult& result, const SignalGuard& signals) {
  if (result.last_save_failed) return kExitSaveFailed;
  if (result.reason == StopReason::kSignal) return 128 + signals.received();
  return kExitDone;
}

}  // namespace stc::host
