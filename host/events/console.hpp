/// \file
/// Standard output as a sink of spdlog: log lines, and on a terminal one progress line below them.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>

namespace stc::host {

/// Writes whole lines and flushes each. The progress line is erased before a log line and drawn again
/// after it.
class ConsoleSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// Borrows `stream`. terminal: progress lines are drawn; else set_progress does nothing.
  ConsoleSink(std::FILE* stream, bool terminal);
  bool terminal() const { return terminal_; }
  /// Shows `text`, cut to the width of the terminal. [any-thread]
  void set_progress(std::string text);
  /// Leaves the progress line where it is and goes on below it. [any-thread]
  void finish_progress();

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;
  void draw();

  std::FILE* stream_;
  bool terminal_;
  std::string progress_;  // as drawn; empty: none
};

}  // namespace stc::host
