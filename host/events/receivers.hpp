/// \file
/// The host's own receivers of events, and the log.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/events/bus.hpp"

namespace stc::host {

/// Text lines "<YYYY-MM-DD HH:MM:SS,mmm local> | INFO | train_step step=1 loss=1.2" through spdlog, to
/// `file` (parent folders created, appended) instead of standard output when given. Floats %.6g,
/// None and True as in Python. Events are of level INFO, those whose name ends in _failed of level
/// ERROR; level hides text lines below it.
/// On a terminal without file: one progress line (step, ETA, loss, tokens/s) that is rewritten.
struct TextLogOptions {
  std::optional<std::string> file;
  std::string level = "INFO";
  int64_t target_step = 0;  // for the ETA
};
/// Sets up spdlog's default logger accordingly and returns the receiver that prints events through it.
/// \throws ConfigError when the file cannot be opened.
std::unique_ptr<EventReceiver> make_text_log(const TextLogOptions& options);

/// A log line that is not an event ("WARNING", "INFO", ...). Whatever the message holds, it stays one
/// line (one_line). Where there is a bus, EventBus::log keeps it in its order. [any-thread]
void log_line(int level /* STC_LOG_* */, const std::string& message);
/// The same, of an earlier moment.
void log_line(int level /* STC_LOG_* */, const std::string& message, double unix_time_s);

/// Receiver over a sink plugin: see host/events/sink.hpp.
}  // namespace stc::host
