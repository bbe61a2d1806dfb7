#include "host/events/receivers.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "host/errors/error.hpp"
#include "host/events/console.hpp"
#include "host/events/text.hpp"
#include "stc/abi/host.h"

namespace stc::host {
namespace {

constexpr double kRedrawSeconds = 0.1;

// The level in the words of the configuration: INFO, WARNING.
class LevelFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string_view word = word_of(message.level);
    out.append(word.data(), word.data() + word.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<LevelFlag>(); }

 private:
  static std::string_view word_of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::trace:
      case spdlog::level::debug: return "DEBUG";
      case spdlog::level::warn: return "WARNING";
      case spdlog::level::err: return "ERROR";
      case spdlog::level::critical: return "CRITICAL";
      default: return "INFO";
    }
  }
};

std::unique_ptr<spdlog::formatter> make_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelFlag>('*').set_pattern("%Y-%m-%d %H:%M:%S,%e | %* | %v");
  return formatter;
}

spdlog::level::level_enum level_from_word(std::string_view word) {
  if (word == "DEBUG") return spdlog::level::debug;
  if (word == "WARNING") return spdlog::level::warn;
  if (word == "ERROR") return spdlog::level::err;
  if (word == "CRITICAL") return spdlog::level::critical;
  return spdlog::level::info;
}

spdlog::level::level_enum level_from_number(int level) {
  if (level < STC_LOG_INFO) return spdlog::level::debug;
  if (level < STC_LOG_WARNING) return spdlog::level::info;
  if (level < STC_LOG_ERROR) return spdlog::level::warn;
  return level < STC_LOG_ERROR + 10 ? spdlog::level::err : spdlog::level::critical;
}

spdlog::log_clock::time_point time_point_of(double unix_time_s) {
  return spdlog::log_clock::time_point(std::chrono::microseconds(std::llround(unix_time_s * 1e6)));
}

/// Events that report a failure are errors: checkpoint_failed, delta_upload_failed.
spdlog::level::level_enum level_of(const Event& event) {
  return event.name.ends_with("_failed") ? spdlog::level::err : spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, spdlog::level::level_enum level) {
  auto logger = std::make_shared<spdlog::logger>("stc", std::move(sink));
  logger->set_formatter(make_formatter());
  logger->set_level(level);
  logger->flush_on(spdlog::level::trace);
  logger->set_error_handler([reported = false](const std::string& reason) mutable {
    if (reported) return;
    reported = true;
    std::fprintf(stderr, "warning: text log: %s; the run goes on without these lines\n", reason.c_str());
  });
  return logger;
}

// Until a run sets up its log, lines go to standard error, so that standard output holds results only.
std::shared_ptr<spdlog::logger> current_logger() {
  static const bool prepared = [] {
    spdlog::set_default_logger(make_logger(std::make_shared<ConsoleSink>(stderr, false), spdlog::level::info));
    return true;
  }();
  (void)prepared;
  return spdlog::default_logger();
}

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term).empty() || std::string_view(term) == "dumb") return false;
  return isatty(fileno(stream)) == 1;
}

spdlog::sink_ptr open_log_file(const std::string& path) {
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  } catch (const std::exception& error) {
    throw ConfigError("logging.file: cannot write " + path + " (" + error.what() + ")",
                      "name a file in a folder that you may write to");
  }
}

std::optional<double> number(const Event& event, std::string_view key) {
  for (const auto& [name, value] : event.fields) {
    if (name != key) continue;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  }
  return std::nullopt;
}

std::string progress_text(const Event& event, int64_t target) {
  const double step = number(event, "step").value_or(0);
  std::string text = "step " + std::to_string(static_cast<int64_t>(step));
  if (target > 0) text += "/" + std::to_string(target);
  if (const auto loss = number(event, "loss")) text += "  loss " + to_text(FieldValue(*loss));
  if (const auto rate = number(event, "tokens_per_sec"); rate && std::isfinite(*rate)) {
    text += "  " + std::to_string(std::llround(*rate)) + " tokens/s";
  }
  const double steps_per_sec = number(event, "steps_per_sec").value_or(0);
  if (target > 0 && steps_per_sec > 0) {
    text += "  ETA " + duration_text((static_cast<double>(target) - step) / steps_per_sec);
  }
  return text;
}

class TextLog final : public EventReceiver {
 public:
  TextLog(std::shared_ptr<spdlog::logger> logger, std::shared_ptr<ConsoleSink> console, int64_t target_step)
      : logger_(std::move(logger)), console_(std::move(console)), target_step_(target_step) {}

  std::string name() const override { return "text log"; }

  void on_event(const Event& event, double unix_time_s) override {
    const auto level = level_of(event);
    if (!logger_->should_log(level)) return;
    if (console_ && console_->terminal() && event.name == "train_step") {
      show_progress(event, unix_time_s);
      return;
    }
    draw_pending();
    logger_->log(time_point_of(unix_time_s), {}, level, to_text(event));
  }

  void flush() override {
    draw_pending();
    logger_->flush();
  }

  void close() override {
    flush();
    if (console_) console_->finish_progress();
  }

 private:
  void show_progress(const Event& event, double unix_time_s) {
    pending_ = progress_text(event, target_step_);
    if (std::abs(unix_time_s - drawn_at_) < kRedrawSeconds) return;
    drawn_at_ = unix_time_s;
    draw_pending();
  }

  void draw_pending() {
    if (pending_.empty()) return;
    console_->set_progress(std::exchange(pending_, {}));
  }

  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<ConsoleSink> console_;  // null: a file
  int64_t target_step_;
  std::string pending_;  // newest progress line, not drawn yet
  double drawn_at_ = 0;
};

}  // namespace

std::unique_ptr<EventReceiver> make_text_log(const TextLogOptions& options) {
  current_logger();  // so that its first use cannot replace the one set here
  std::shared_ptr<ConsoleSink> console;
  spdlog::sink_ptr sink;
  if (options.file) {
    sink = open_log_file(*options.file);
  } else {
    console = std::make_shared<ConsoleSink>(stdout, is_terminal(stdout));
    sink = console;
  }
  auto logger = make_logger(std::move(sink), level_from_word(options.level));
  spdlog::set_default_logger(logger);
  return std::make_unique<TextLog>(std::move(logger), std::move(console), options.target_step);
}

void log_line(int level, const std::string& message) {
  current_logger()->log(level_from_number(level), one_line(message));
}

void log_line(int level, const std::string& message, double unix_time_s) {
  current_logger()->log(time_point_of(unix_time_s), {}, level_from_number(level), one_line(message));
}

}  // namespace stc::host
