/// \file
/// A receiver that keeps what it got, for tests of the bus.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/events/bus.hpp"

namespace stc::host::test {

/// What a RecordingReceiver saw; outlives the bus.
struct Recording {
  std::mutex mutex;
  std::vector<std::pair<std::string, int64_t>> events;  // name and field "n", -1 when absent
  std::vector<Event> records;
  std::vector<std::thread::id> threads;
  int flushes = 0;
  int closes = 0;
};

class RecordingReceiver final : public EventReceiver {
 public:
  explicit RecordingReceiver(Recording& recording) : recording_(recording) {}
  std::string name() const override { return "recording"; }
  void on_event(const Event& event, double) override {
    const std::lock_guard<std::mutex> lock(recording_.mutex);
    int64_t n = -1;
    for (const auto& [key, value] : event.fields) {
      if (key == "n") n = std::get<int64_t>(value);
    }
    recording_.events.emplace_back(event.name, n);
    recording_.records.push_back(event);
    recording_.threads.push_back(std::this_thread::get_id());
  }
  void flush() override { ++recording_.flushes; }
  void close() override { ++recording_.closes; }

 private:
  Recording& recording_;
};

}  // namespace stc::host::test
