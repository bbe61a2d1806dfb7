#include "source_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "stc/core/fault.hpp"

namespace stc::text {

SourceFile::SourceFile(Host host, std::string shown, std::string path)
    : host_(host), shown_(std::move(shown)), path_(std::move(path)) {
  open();
}

SourceFile::~SourceFile() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

void SourceFile::open() {
  // A pipe without a writer must not block here: wait_readable does that, and can be interrupted.
  file_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (file_ < 0 || ::fstat(file_, &info) != 0) {
    fail(std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    fail("is a folder, expected a text file");
  }
  is_regular_ = S_ISREG(info.st_mode);
  size_ = is_regular_ ? static_cast<uint64_t>(info.st_size) : 0;
  offset_ = 0;
}

void SourceFile::fail(const std::string& what) const { throw Fault(STC_ERROR_IO, shown_ + ": " + what); }

bool SourceFile::ready() const {
  if (is_regular_) {
    return true;
  }
  pollfd wanted{file_, POLLIN, 0};
  return ::poll(&wanted, 1, 0) > 0;
}

void SourceFile::wait_readable() {
  // On Linux a pipe that never had a writer is neither readable nor hung up, so the end of the data
  // and a writer still to come are told apart.
  constexpr int kWaitMs = 200;
  constexpr int kNoticeMs = 5000;
  pollfd wanted{file_, POLLIN, 0};
  for (int waited_ms = kWaitMs; ::poll(&wanted, 1, kWaitMs) == 0; waited_ms += kWaitMs) {
    host_.throw_if_cancelled();
    if (waited_ms == kNoticeMs) {
      host_.info(shown_ + ": waiting for data");
    }
  }
}

size_t SourceFile::read(std::span<char> out) {
  for (;;) {
    if (!is_regular_) {
      wait_readable();
    }
    const ssize_t n = is_regular_ ? ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset_))
                                  : ::read(file_, out.data(), out.size());
    if (n >= 0) {
      offset_ += static_cast<uint64_t>(n);
      return static_cast<size_t>(n);
    }
    if (errno != EINTR && errno != EAGAIN) {
      fail(std::string(std::strerror(errno)) + ", reading at offset " + std::to_string(offset_));
    }
  }
}

void SourceFile::seek(uint64_t offset) {
  if (is_regular_) {
    offset_ = offset;
    return;
  }
  if (offset != 0) {
    fail("cannot continue at offset " + std::to_string(offset) + ": a pipe has no positions");
  }
  if (offset_ != 0) {
    ::close(std::exchange(file_, -1));
    open();
  }
}

namespace {

constexpr uint64_t kPiece = 512u << 10;
constexpr uint64_t kPieces = 64;
constexpr uint64_t kWhole = 64u << 20;

void hash_piece(SourceFile& file, uint64_t offset, uint64_t bytes, std::vector<char>& buffer, XXH3_state_t& state) {
  file.seek(offset);
  while (bytes > 0) {
    const size_t n = file.read(std::span(buffer.data(), std::min<uint64_t>(bytes, buffer.size())));
    if (n == 0) {
      return;
    }
    XXH3_128bits_update(&state, buffer.data(), n);
    bytes -= n;
  }
}

}  // namespace

std::string content_fingerprint(SourceFile& file) {
  if (!file.is_regular()) {
    return "pipe";
  }
  std::vector<char> buffer(kPiece);
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  if (file.size() <= kWhole) {
    hash_piece(file, 0, file.size(), buffer, state);
  } else {
    for (uint64_t i = 0; i < kPieces; ++i) {
      // Evenly spaced; 128-bit arithmetic is not needed below 2^58 bytes.
      hash_piece(file, (file.size() - kPiece) / (kPieces - 1) * i, kPiece, buffer, state);
    }
    hash_piece(file, file.size() - kPiece, kPiece, buffer, state);
  }
  file.seek(0);
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  char text[96];
  std::snprintf(text, sizeof text, "xxh3:%016llx%016llx bytes=%llu", static_cast<unsigned long long>(digest.high64),
                static_cast<unsigned long long>(digest.low64), static_cast<unsigned long long>(file.size()));
  return text;
}

}  // namespace stc::text
