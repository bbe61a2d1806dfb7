#include "host/events/crash_drain.hpp"

#include <signal.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <exception>

namespace stc::host {
namespace {

constexpr int kBoundMs = 2000;
constexpr std::array<int, 5> kFatalSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::array<DrainSlot, 16>& slots() {
  // Never destroyed: a crash may come after static destruction began.
  static auto* all = new std::array<DrainSlot, 16>();
  return *all;
}

// The slots as signal handlers see them: no function-local static, no lock.
std::atomic<std::array<DrainSlot, 16>*> published_slots{nullptr};
std::array<struct sigaction, kFatalSignals.size()> found_actions;
std::terminate_handler found_terminate = nullptr;
std::atomic<bool> drained_for_death{false};

int64_t monotonic_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void drain_once_for_death() noexcept {
  if (!drained_for_death.exchange(true)) drain_events(kBoundMs);
}

extern "C" void stc_on_fatal_signal(int number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  drain_once_for_death();
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
    if (kFatalSignals[i] == number) sigaction(number, &found_actions[i], nullptr);
  }
  // A fault happens again on return; a signal that was sent has to be sent again.
  if (info == nullptr || info->si_code <= 0) raise(number);
  errno = saved_errno;
}

[[noreturn]] void on_terminate() {
  drain_once_for_death();
  if (found_terminate != nullptr) found_terminate();
  std::abort();
}

void install_signal(std::size_t index) {
  struct sigaction current {};
  sigaction(kFatalSignals[index], nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == stc_on_fatal_signal) return;
  found_actions[index] = current;
  struct sigaction ours {};
  ours.sa_sigaction = stc_on_fatal_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(kFatalSignals[index], &ours, nullptr);
}

}  // namespace

DrainSlot* take_drain_slot() noexcept {
  published_slots.store(&slots());
  for (DrainSlot& slot : slots()) {
    if (!slot.taken.exchange(true)) {
      slot.signalled.store(false);
      slot.flush_done.store(slot.flush_requested.load());
      return &slot;
    }
  }
  return nullptr;
}

void release_drain_slot(DrainSlot* slot) noexcept {
  slot->running.store(false);
  while (sem_trywait(&slot->wake_up) == 0) {
  }
  slot->taken.store(false);
}

void drain_events(int bound_ms) noexcept {
  auto* all = published_slots.load();
  if (all == nullptr) return;
  const int64_t deadline = monotonic_ms() + bound_ms;
  for (DrainSlot& slot : *all) {
    if (!slot.running.load() || pthread_equal(slot.thread.load(), pthread_self())) continue;
    const uint64_t ticket = slot.flush_requested.fetch_add(1) + 1;
    slot.wake_now();
    while (slot.running.load() && slot.flush_done.load() < ticket && monotonic_ms() < deadline) {
      const timespec pause{0, 1000000};
      nanosleep(&pause, nullptr);
    }
  }
}

void install_crash_drain() {
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) install_signal(i);
  if (std::get_terminate() != on_terminate) found_terminate = std::set_terminate(on_terminate);
  static const int registered = std::atexit([] { drain_events(kBoundMs); });
  (void)registered;
}

}  // namespace stc::host
