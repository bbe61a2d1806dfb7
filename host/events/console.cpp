#include "host/events/console.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stc::host {
namespace {

constexpr std::size_t kDefaultColumns = 80;
// Return to the first column and erase to the end of the line (ECMA-48 EL).
constexpr char kEraseLine[] = "\r\x1b[K";

std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultColumns;
}

}  // namespace

ConsoleSink::ConsoleSink(std::FILE* stream, bool terminal) : stream_(stream), terminal_(terminal) {}

void ConsoleSink::set_progress(std::string text) {
  if (!terminal_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_ = std::move(text);
  draw();
}

void ConsoleSink::finish_progress() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (progress_.empty()) return;
  progress_.clear();
  std::fputc('\n', stream_);
  std::fflush(stream_);
}

void ConsoleSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  if (!progress_.empty()) std::fputs(kEraseLine, stream_);
  std::fwrite(line.data(), 1, line.size(), stream_);
  if (!progress_.empty()) {
    draw();
  } else {
    std::fflush(stream_);
  }
}

void ConsoleSink::flush_() { std::fflush(stream_); }

void ConsoleSink::draw() {
  // A line as wide as the terminal would wrap, and could not be erased.
  const std::size_t width = columns_of(stream_) - 1;
  std::fputs(kEraseLine, stream_);
  std::fwrite(progress_.data(), 1, std::min(progress_.size(), width), stream_);
  std::fflush(stream_);
}

}  // namespace stc::host
