/// \file
/// Gets queued events onto the disk when the process dies of a fault, an abort or a plugin's exit().
///
/// The dying thread may hold any lock, so it touches static atomics and a semaphore only, and waits, for
/// a bounded time, until the queue thread has written what was queued.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>

namespace stc::host {

/// What a dying thread may know of a queue. Static storage or as old as its bus; every member is safe to
/// use in a signal handler.
struct DrainSlot {
  std::atomic<bool> taken{false};
  std::atomic<bool> running{false};  // the queue thread takes events
  std::atomic<bool> signalled{false};
  std::atomic<uint64_t> flush_requested{0};
  std::atomic<uint64_t> flush_done{0};
  std::atomic<pthread_t> thread{};
  sem_t wake_up;

  DrainSlot() { sem_init(&wake_up, 0, 0); }
  /// The queue thread looks soon; while it rests between two looks, at the end of the rest. [signal-safe]
  void wake() noexcept {
    if (!signalled.exchange(true)) sem_post(&wake_up);
  }
  /// It looks at once. [signal-safe]
  void wake_now() noexcept {
    signalled.store(true);
    sem_post(&wake_up);
  }
};

/// A slot that crash handlers look at; null when all 16 are taken. Given back with release_drain_slot.
DrainSlot* take_drain_slot() noexcept;
void release_drain_slot(DrainSlot* slot) noexcept;

/// Asks every queue to write and flush, and waits for them, at most `bound_ms`. [signal-safe]
void drain_events(int bound_ms) noexcept;

/// Installs the handlers of std::terminate, of SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL, and of exit().
/// Each drains for at most two seconds and hands over to the handler that it found. Idempotent.
void install_crash_drain();

}  // namespace stc::host
