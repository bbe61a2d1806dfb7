/// \file
/// Carries events from the run to the text log, the console and the sink plugins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/events/event.hpp"

namespace stc::host {

/// Receives events on the bus's one queue thread. A throwing receiver is reported as a warning the first time, and at
/// the end with the number of events that it lost; it never ends the run.
class EventReceiver {
 public:
  virtual ~EventReceiver() = default;
  virtual std::string name() const = 0;
  virtual void on_event(const Event& event, double unix_time_s) = 0;
  virtual void flush() {}
  virtual void close() {}
};

class EventBus {
 public:
  /// Time zero of elapsed_s is the construction.
  EventBus();
  /// Drains, flushes and closes.
  ~EventBus();
  /// Before the first emit. [main-thread]
  void add(std::unique_ptr<EventReceiver> receiver);
  /// Queues; blocks only when the queue holds more than 10,000 records. Receivers get it within about 5 ms.
  /// [any-thread]
  void emit(Event event);
  /// A line for the log (host/events/receivers.hpp) that stands after everything emitted before. Printed at once on
  /// the queue's own thread and after close(). [any-thread]
  void log(int level /* STC_LOG_* */, std::string message);
  double elapsed_s() const;
  /// Returns when everything emitted before is written and flushed to the operating system.
  void flush();
  /// flush, close receivers, end the thread. Idempotent. Also run by terminate and abort handlers, with
  /// a bound of two seconds.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stc::host
