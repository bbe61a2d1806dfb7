/// \file
/// A text file that grows by whole lines, for sinks. POSIX.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "stc/core/fault.hpp"

namespace stc {

/// Each line is one write(2) at the end of the file (O_APPEND), so that lines of several writers stay whole and a
/// killed process leaves no half line. Not thread-safe. Throws Fault(IO).
class LineFile {
 public:
  LineFile() = default;
  /// Opens for appending; creates the file and its folders.
  explicit LineFile(std::string path) : path_(std::move(path)) {
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    std::error_code ignored;
    if (!parent.empty()) {
      std::filesystem::create_directories(parent, ignored);  // open says what is wrong
    }
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) {
      fail("cannot open");
    }
  }
  LineFile(LineFile&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  LineFile& operator=(LineFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~LineFile() { close(); }

  bool is_open() const { return file_ >= 0; }
  const std::string& path() const { return path_; }

  /// \param line ends with a line break. On failure (disk full) nothing of it stays in a regular file.
  void write(std::string_view line) {
    std::size_t done = 0;
    while (done < line.size()) {
      const ssize_t written = ::write(file_, line.data() + done, line.size() - done);
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        const int reason = errno;
        take_back(done);
        errno = reason;
        fail("cannot write");
      }
      done += static_cast<std::size_t>(written);
    }
  }

  /// To the disk, where the file is on one.
  void sync() {
    if (file_ >= 0 && ::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) {
      fail("cannot sync");
    }
  }
  void close() {
    if (file_ >= 0) {
      ::close(std::exchange(file_, -1));
    }
  }

 private:
  void take_back(std::size_t bytes) noexcept {
    struct stat status {};
    if (bytes == 0 || ::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
      return;
    }
    if (::ftruncate(file_, status.st_size - static_cast<off_t>(bytes)) != 0) {
      return;  // the write's own error is reported
    }
  }
  [[noreturn]] void fail(const char* what) const {
    throw Fault(STC_ERROR_IO, std::string(what) + " " + path_ + ": " + std::strerror(errno));
  }

  std::string path_;
  int file_ = -1;
};

/// Bytes after the last line break of a regular file, empty when it ends with one; at most `limit`. A file that is
/// absent or not regular has none.
inline std::string unfinished_line(const std::string& path, std::size_t limit = std::size_t{1} << 20) {
  struct stat status {};
  std::string tail;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return tail;
  }
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    tail.resize(size < limit ? size : limit);
    const ssize_t got = ::pread(file, tail.data(), tail.size(), static_cast<off_t>(size - tail.size()));
    tail.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  ::close(file);
  const std::size_t last_break = tail.rfind('\n');
  return last_break == std::string::npos ? tail : tail.substr(last_break + 1);
}

/// Cuts `bytes` off the end of a file. Throws Fault(IO).
inline void cut_end(const std::string& path, std::size_t bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error) {
    std::filesystem::resize_file(path, size - bytes, error);
  }
  if (error) {
    throw Fault(STC_ERROR_IO, "cannot shorten " + path + ": " + error.message());
  }
}

}  // namespace stc
