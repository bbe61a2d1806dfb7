/// \file
/// Named spans of time, written as a Chrome trace (chrome://tracing, ui.perfetto.dev).
///
/// Format: "Trace Event Format", JSON array form, duration events B and E; times in microseconds from
/// the start of the recorder. The closing bracket is optional in that form, so that a file cut off by a
/// kill can be read too.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace stc::host {

/// [any-thread] for begin and end. Spans of one thread nest.
class TraceRecorder {
 public:
  /// Spans beyond this many events are left out; a week of small steps must not fill the disk.
  static constexpr uint64_t kMaxEvents = 5'000'000;

  /// Creates `path`. \throws TrainError with the reason.
  explicit TraceRecorder(const std::string& path);
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  void begin(const char* name) { add(name, 'B'); }
  void end(const char* name) { add(name, 'E'); }
  /// Ends the file. Later spans are dropped. Idempotent.
  void close();
  const std::string& path() const { return path_; }

 private:
  void add(const char* name, char phase);
  int thread_number();  // under mutex_
  void write(const std::string& event);

  const std::string path_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::FILE* file_;
  uint64_t count_ = 0;
  std::map<std::thread::id, int> threads_;
};

/// `<folder>/trace.json`, or trace.2.json, ... when it is there already.
std::string free_trace_path(const std::string& folder);

}  // namespace stc::host
