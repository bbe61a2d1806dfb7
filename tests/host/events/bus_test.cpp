#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <boost/test/unit_test.hpp>

#include "host/events/bus.hpp"
#include "host/events/receivers.hpp"
#include "stc/abi/host.h"
#include "tests/host/events/recording_receiver.hpp"

using namespace stc::host;
using stc::host::test::Recording;
using stc::host::test::RecordingReceiver;

namespace {

Event numbered(int64_t n) {
  Event event("numbered");
  event.add("n", n);
  return event;
}

// Fails in every call, in the way that it was told.
class FailingReceiver final : public EventReceiver {
 public:
  explicit FailingReceiver(bool standard) : standard_(standard) {}
  std::string name() const override { return "broken"; }
  void on_event(const Event&, double) override { fail(); }
  void flush() override { fail(); }
  void close() override { fail(); }

 private:
  void fail() const {
    if (standard_) throw std::runtime_error("disk full");
    throw 42;
  }
  bool standard_;
};

// Holds the queue thread until released.
class GateReceiver final : public EventReceiver {
 public:
  explicit GateReceiver(std::atomic<bool>& open) : open_(open) {}
  std::string name() const override { return "gate"; }
  void on_event(const Event&, double) override {
    while (!open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<bool>& open_;
};

class EchoReceiver final : public EventReceiver {
 public:
  explicit EchoReceiver(EventBus& bus) : bus_(bus) {}
  std::string name() const override { return "echo"; }
  void on_event(const Event& event, double) override {
    if (event.name == "numbered") bus_.emit(Event("echo"));
    bus_.flush();  // must not wait for itself
  }

 private:
  EventBus& bus_;
};

// The log lines written while it lives.
class CapturedLog {
 public:
  CapturedLog() {
    log_line(STC_LOG_DEBUG, "");  // so that the default logger is not set later
    before_ = spdlog::default_logger();
    auto logger =
        std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return stream_.str(); }

 private:
  std::ostringstream stream_;
  std::shared_ptr<spdlog::logger> before_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_bus)

BOOST_AUTO_TEST_CASE(keeps_order_and_uses_one_thread) {
  Recording recording;
  {
    EventBus bus;
    bus.add(std::make_unique<RecordingReceiver>(recording));
    for (int64_t n = 0; n < 25000; ++n) bus.emit(numbered(n));
  }
  BOOST_REQUIRE_EQUAL(recording.events.size(), 25000u);
  for (int64_t n = 0; n < 25000; ++n) BOOST_REQUIRE_EQUAL(recording.events[std::size_t(n)].second, n);
  const std::set<std::thread::id> threads(recording.threads.begin(), recording.threads.end());
  BOOST_CHECK_EQUAL(threads.size(), 1u);
  BOOST_CHECK(*threads.begin() != std::this_thread::get_id());
  BOOST_CHECK_EQUAL(recording.closes, 1);
}

BOOST_AUTO_TEST_CASE(loses_nothing_of_several_emitters) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<RecordingReceiver>(recording));
  std::vector<std::thread> emitters;
  for (int64_t t = 0; t < 4; ++t) {
    emitters.emplace_back([&bus, t] {
      for (int64_t n = 0; n < 5000; ++n) bus.emit(numbered(t * 5000 + n));
    });
  }
  for (std::thread& emitter : emitters) emitter.join();
  bus.close();
  std::set<int64_t> seen;
  for (const auto& [name, n] : recording.events) seen.insert(n);
  BOOST_CHECK_EQUAL(seen.size(), 20000u);
}

BOOST_AUTO_TEST_CASE(flush_returns_when_all_before_it_is_delivered) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<RecordingReceiver>(recording));
  for (int64_t round = 1; round <= 50; ++round) {
    for (int64_t n = 0; n < 20; ++n) bus.emit(numbered(n));
    bus.flush();
    const std::lock_guard<std::mutex> lock(recording.mutex);
    BOOST_REQUIRE_EQUAL(recording.events.size(), std::size_t(round) * 20);
    BOOST_REQUIRE_GE(recording.flushes, round);
  }
}

BOOST_AUTO_TEST_CASE(adds_elapsed_s_unless_the_event_brings_its_own) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<RecordingReceiver>(recording));
  bus.emit(Event("plain"));
  Event own("train_end");
  own.add("elapsed_s", 7.5).add("steps", int64_t{3});
  bus.emit(own);
  bus.close();
  BOOST_REQUIRE_EQUAL(recording.records.size(), 2u);
  BOOST_REQUIRE_EQUAL(recording.records[0].fields.size(), 1u);
  BOOST_CHECK_EQUAL(recording.records[0].fields[0].first, "elapsed_s");
  const double elapsed = std::get<double>(recording.records[0].fields[0].second);
  BOOST_CHECK_GE(elapsed, 0.0);
  BOOST_CHECK_LE(elapsed, bus.elapsed_s());
  BOOST_REQUIRE_EQUAL(recording.records[1].fields.size(), 2u);
  BOOST_CHECK_EQUAL(std::get<double>(recording.records[1].fields[0].second), 7.5);
}

BOOST_AUTO_TEST_CASE(blocks_emitters_only_beyond_ten_thousand) {
  Recording recording;
  std::atomic<bool> open{false};
  std::atomic<int64_t> emitted{0};
  EventBus bus;
  bus.add(std::make_unique<GateReceiver>(open));
  bus.add(std::make_unique<RecordingReceiver>(recording));
  bus.emit(numbered(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the queue thread is at the gate
  std::thread emitter([&] {
    for (int64_t n = 1; n <= 12000; ++n) {
      bus.emit(numbered(n));
      emitted = n;
    }
  });
  for (int i = 0; i < 500 && emitted < 10000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  BOOST_CHECK_EQUAL(emitted.load(), 10000);
  open = true;
  emitter.join();
  bus.close();
  BOOST_CHECK_EQUAL(recording.events.size(), 12001u);
}

BOOST_AUTO_TEST_CASE(a_failing_receiver_warns_once_tells_its_loss_and_ends_nothing) {
  for (const bool standard : {true, false}) {
    BOOST_TEST_CONTEXT("standard exception: " << standard) {
      Recording recording;
      CapturedLog log;
      {
        EventBus bus;
        bus.add(std::make_unique<FailingReceiver>(standard));
        bus.add(std::make_unique<RecordingReceiver>(recording));
        for (int64_t n = 0; n < 10; ++n) bus.emit(numbered(n));
        bus.flush();
      }
      BOOST_CHECK_EQUAL(recording.events.size(), 10u);
      BOOST_CHECK_EQUAL(count(log.text(), "warning sink broken: event: "), 1u);
      BOOST_CHECK_EQUAL(count(log.text(), "warning sink broken: 10 of 10 events are lost\n"), 1u);
      BOOST_CHECK_EQUAL(count(log.text(), "\n"), 2u);
      if (standard) BOOST_CHECK_EQUAL(count(log.text(), "disk full"), 1u);
    }
  }
}

// Prints each event into the log.
class PrintingReceiver final : public EventReceiver {
 public:
  std::string name() const override { return "printing"; }
  void on_event(const Event& event, double) override { log_line(STC_LOG_INFO, event.name); }
};

BOOST_AUTO_TEST_CASE(log_lines_keep_their_place_among_the_events) {
  CapturedLog log;
  std::string expected;
  {
    EventBus bus;
    bus.add(std::make_unique<PrintingReceiver>());
    for (int n = 0; n < 300; ++n) {
      const std::string name = std::to_string(n);
      bus.emit(Event("event" + name));
      bus.log(STC_LOG_WARNING, "line" + name);
      expected += "info event" + name + "\nwarning line" + name + "\n";
      if (n % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(8));  // the queue thread has rested
    }
    bus.close();
    bus.log(STC_LOG_ERROR, "after the end");
    expected += "error after the end\n";
  }
  BOOST_CHECK_EQUAL(log.text(), expected);
}

BOOST_AUTO_TEST_CASE(what_comes_while_the_queue_thread_rests_is_delivered_without_another_word) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<RecordingReceiver>(recording));
  const auto seen = [&] {
    const std::lock_guard<std::mutex> lock(recording.mutex);
    return recording.events.size();
  };
  for (std::size_t n = 1; n <= 200; ++n) {
    bus.emit(numbered(static_cast<int64_t>(n)));
    for (int i = 0; i < 10000 && seen() < n; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_REQUIRE_EQUAL(seen(), n);
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_may_emit_and_flush) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<EchoReceiver>(bus));
  bus.add(std::make_unique<RecordingReceiver>(recording));
  for (int64_t n = 0; n < 100; ++n) bus.emit(numbered(n));
  bus.close();
  BOOST_CHECK_EQUAL(recording.events.size(), 200u);
}

BOOST_AUTO_TEST_CASE(close_is_idempotent_and_later_events_are_dropped) {
  Recording recording;
  EventBus bus;
  bus.add(std::make_unique<RecordingReceiver>(recording));
  bus.emit(numbered(1));
  bus.close();
  bus.close();
  bus.emit(numbered(2));
  bus.flush();
  BOOST_CHECK_EQUAL(recording.events.size(), 1u);
  BOOST_CHECK_EQUAL(recording.closes, 1);
}

BOOST_AUTO_TEST_CASE(many_buses_at_once) {
  std::vector<Recording> recordings(20);
  std::vector<std::unique_ptr<EventBus>> buses;
  for (Recording& recording : recordings) {
    buses.push_back(std::make_unique<EventBus>());
    buses.back()->add(std::make_unique<RecordingReceiver>(recording));
    buses.back()->emit(numbered(1));
  }
  buses.clear();
  for (Recording& recording : recordings) BOOST_CHECK_EQUAL(recording.events.size(), 1u);
}

BOOST_AUTO_TEST_SUITE_END()
