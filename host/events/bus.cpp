#include "host/events/bus.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "host/errors/error.hpp"
#include "host/events/crash_drain.hpp"
#include "host/events/receivers.hpp"
#include "stc/abi/host.h"

namespace stc::host {
namespace {

constexpr std::size_t kMaxQueued = 10000;

double unix_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

struct Record {
  Event event;
  double unix_time_s;
};

// A receiver and whether its failure was reported.
struct Guarded {
  std::unique_ptr<EventReceiver> receiver;
  bool reported = false;

  template <class Call>
  void call(const char* what, Call&& body) {
    std::string reason;
    try {
      body(*receiver);
      return;
    } catch (const std::exception& error) {
      reason = error.what();
    } catch (...) {
      reason = "threw something that is no std::exception";
    }
    if (reported) return;
    reported = true;
    log_line(STC_LOG_WARNING, "sink " + receiver->name() + ": " + what + ": " + reason +
                                  "; the run goes on, its output may be incomplete");
  }
};

}  // namespace

struct EventBus::Impl {
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  DrainSlot* slot = nullptr;
  std::unique_ptr<DrainSlot> own_slot;  // when the static ones are taken
  std::vector<Guarded> receivers;       // constant once the thread runs

  std::mutex mutex;
  std::condition_variable changed;  // room in the queue, a flush done
  std::deque<Record> queue;         // guarded by mutex
  bool closed = false;              // guarded by mutex: takes nothing more

  std::mutex close_mutex;
  std::atomic<bool> ending{false};
  std::thread thread;
  std::thread::id thread_id;  // constant after construction

  Impl() {
    install_crash_drain();
    slot = take_drain_slot();
    if (slot == nullptr) {
      own_slot = std::make_unique<DrainSlot>();
      slot = own_slot.get();
    }
    start_thread();
  }

  ~Impl() {
    if (!own_slot) release_drain_slot(slot);
  }

  void start_thread() {
    // Signals meant for the process go to the threads that wait for them, never to this one.
    sigset_t all, before;
    sigfillset(&all);
    for (int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fatal);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread = std::thread([this] { work(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (!own_slot) release_drain_slot(slot);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), "stc-events");
    thread_id = thread.get_id();
    slot->thread.store(thread.native_handle());
    slot->running.store(true);
  }

  bool on_queue_thread() const { return std::this_thread::get_id() == thread_id; }

  void work() {
    for (;;) {
      while (sem_wait(&slot->wake_up) != 0) {
      }
      slot->signalled.store(false);
      const bool last = ending.load();
      const uint64_t ticket = slot->flush_requested.load();
      deliver();
      if (last || ticket > slot->flush_done.load()) {
        flush_receivers();
        slot->flush_done.store(ticket);
        const std::lock_guard<std::mutex> lock(mutex);
        changed.notify_all();
      }
      if (last) break;
    }
    for (Guarded& guarded : receivers) guarded.call("close", [](EventReceiver& r) { r.close(); });
  }

  void deliver() {
    std::deque<Record> batch;
    for (;;) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (queue.empty()) return;
        batch.swap(queue);
        changed.notify_all();
      }
      for (const Record& record : batch) {
        for (Guarded& guarded : receivers) {
          guarded.call("event", [&](EventReceiver& r) { r.on_event(record.event, record.unix_time_s); });
        }
      }
      batch.clear();
    }
  }

  void flush_receivers() {
    for (Guarded& guarded : receivers) guarded.call("flush", [](EventReceiver& r) { r.flush(); });
  }
};

EventBus::EventBus() : impl_(std::make_unique<Impl>()) {}

EventBus::~EventBus() { close(); }

void EventBus::add(std::unique_ptr<EventReceiver> receiver) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->receivers.push_back({std::move(receiver), false});
}

void EventBus::emit(Event event) {
  const bool timed = std::any_of(event.fields.begin(), event.fields.end(),
                                 [](const auto& field) { return field.first == "elapsed_s"; });
  if (!timed) event.add("elapsed_s", elapsed_s());
  {
    std::unique_lock<std::mutex> lock(impl_->mutex);
    // A receiver that emits must not wait for itself.
    if (!impl_->on_queue_thread()) {
      impl_->changed.wait(lock, [&] { return impl_->closed || impl_->queue.size() < kMaxQueued; });
    }
    if (impl_->closed) return;
    impl_->queue.push_back({std::move(event), unix_now()});
  }
  impl_->slot->wake();
}

double EventBus::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - impl_->start).count();
}

void EventBus::flush() {
  if (impl_->on_queue_thread()) return;
  const uint64_t ticket = impl_->slot->flush_requested.fetch_add(1) + 1;
  impl_->slot->wake();
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return impl_->slot->flush_done.load() >= ticket || !impl_->slot->running.load(); });
}

void EventBus::close() {
  const std::lock_guard<std::mutex> once(impl_->close_mutex);
  if (!impl_->thread.joinable()) return;
  flush();
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->closed = true;
    impl_->changed.notify_all();
  }
  impl_->ending.store(true);
  impl_->slot->wake();
  impl_->thread.join();
  impl_->slot->running.store(false);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->changed.notify_all();
}

}  // namespace stc::host
