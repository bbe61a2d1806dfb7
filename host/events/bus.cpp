#include "host/events/bus.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "host/errors/error.hpp"
#include "host/events/crash_drain.hpp"
#include "host/events/receivers.hpp"
#include "stc/abi/host.h"

namespace stc::host {
namespace {

constexpr std::size_t kMaxQueued = 10000;
/// Rest of the queue thread after it has written: waking it costs the sender about as much as making an event, and
/// takes a core from a step that may be shorter than this.
constexpr int64_t kRestNs = 5'000'000;

double unix_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

struct LogLine {
  int level;
  std::string message;
};

struct Record {
  std::variant<Event, LogLine> content;
  double unix_time_s;
};

// A receiver, and what it failed to take.
struct Guarded {
  std::unique_ptr<EventReceiver> receiver;
  bool reported = false;
  uint64_t events = 0, lost = 0;

  void take(const Event& event, double unix_time_s) {
    ++events;
    if (!call("event", [&](EventReceiver& r) { r.on_event(event, unix_time_s); })) ++lost;
  }

  void close() {
    call("close", [](EventReceiver& r) { r.close(); });
    if (lost == 0) return;
    log_line(STC_LOG_WARNING, "sink " + receiver->name() + ": " + std::to_string(lost) + " of " +
                                  std::to_string(events) + " events are lost");
  }

  /// \returns whether it did not throw.
  template <class Call>
  bool call(const char* what, Call&& body) {
    std::string reason;
    try {
      body(*receiver);
      return true;
    } catch (const std::exception& error) {
      reason = error.what();
    } catch (...) {
      reason = "threw something that is no std::exception";
    }
    if (!reported) {
      log_line(STC_LOG_WARNING, "sink " + receiver->name() + ": " + what + ": " + reason +
                                    "; the run goes on, its output may be incomplete");
    }
    reported = true;
    return false;
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

  /// Until woken, or for kRestNs.
  void rest() {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += kRestNs;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    while (sem_clockwait(&slot->wake_up, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
    }
  }

  void work() {
    bool resting = false;
    for (;;) {
      if (resting) {
        rest();
      } else {
        while (sem_wait(&slot->wake_up) != 0) {
        }
      }
      slot->signalled.store(false);
      const bool last = ending.load();
      const uint64_t ticket = slot->flush_requested.load();
      resting = deliver();
      if (resting) slot->signalled.store(true);  // what comes from here on is looked for after the rest
      if (last || ticket > slot->flush_done.load()) {
        flush_receivers();
        slot->flush_done.store(ticket);
        const std::lock_guard<std::mutex> lock(mutex);
        changed.notify_all();
      }
      if (last) break;
    }
    for (Guarded& guarded : receivers) guarded.close();
  }

  /// \returns whether there was anything.
  bool deliver() {
    std::deque<Record> batch;
    for (bool any = false;; any = true) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (queue.empty()) return any;
        batch.swap(queue);
        changed.notify_all();
      }
      for (const Record& record : batch) deliver(record);
      batch.clear();
    }
  }

  void deliver(const Record& record) {
    if (const auto* line = std::get_if<LogLine>(&record.content)) {
      log_line(line->level, line->message, record.unix_time_s);
      return;
    }
    for (Guarded& guarded : receivers) guarded.take(std::get<Event>(record.content), record.unix_time_s);
  }

  /// \returns whether it is queued; false once closed.
  bool enqueue(Record record) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      // A receiver that emits must not wait for itself.
      if (!on_queue_thread()) changed.wait(lock, [&] { return closed || queue.size() < kMaxQueued; });
      if (closed) return false;
      queue.push_back(std::move(record));
    }
    slot->wake();
    return true;
  }

  void flush_receivers() {
    for (Guarded& guarded : receivers) guarded.call("flush", [](EventReceiver& r) { r.flush(); });
  }
};

EventBus::EventBus() : impl_(std::make_unique<Impl>()) {}

EventBus::~EventBus() {
  close();
  impl_->receivers.clear();  // while what they may log to is whole
}

void EventBus::add(std::unique_ptr<EventReceiver> receiver) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->receivers.push_back({std::move(receiver)});
}

void EventBus::emit(Event event) {
  const bool timed = std::any_of(event.fields.begin(), event.fields.end(),
                                 [](const auto& field) { return field.first == "elapsed_s"; });
  if (!timed) event.add("elapsed_s", elapsed_s());
  impl_->enqueue({std::move(event), unix_now()});
}

void EventBus::log(int level, std::string message) {
  // A receiver's own line belongs to the event that it has at hand.
  if (!impl_->on_queue_thread() && impl_->enqueue({LogLine{level, message}, unix_now()})) return;
  log_line(level, message);
}

double EventBus::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - impl_->start).count();
}

void EventBus::flush() {
  if (impl_->on_queue_thread()) return;
  const uint64_t ticket = impl_->slot->flush_requested.fetch_add(1) + 1;
  impl_->slot->wake_now();
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
  impl_->slot->wake_now();
  impl_->thread.join();
  impl_->slot->running.store(false);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->changed.notify_all();
}

}  // namespace stc::host
