/// \file
/// The file behind the text: regular, or a pipe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stc/core/host.hpp"

namespace stc::text {

/// An open file. Reads of a pipe ask the host five times a second whether to give up, and say in the log
/// when they have waited for long. POSIX.
/// Everything throws Fault(IO) with the file's name, and Fault(CANCELLED).
class SourceFile {
 public:
  /// \param shown the path as the user wrote it, for messages. \param path the one to open.
  SourceFile(Host host, std::string shown, std::string path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& shown() const { return shown_; }
  bool is_regular() const { return is_regular_; }
  /// Bytes of a regular file when it was opened, else 0.
  uint64_t size() const { return size_; }
  /// The next bytes, at most out.size(); 0 at the end. Waits for a pipe's writer.
  size_t read(std::span<char> out);
  /// False when a read might wait.
  bool ready() const;
  /// Goes on reading there. A pipe knows only 0, and opens again for its next writer.
  void seek(uint64_t offset);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void open();
  void wait_readable();

  Host host_;
  std::string shown_;
  std::string path_;
  int file_ = -1;
  bool is_regular_ = false;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;
};

/// Digest of the content (XXH3, 128 bits) and its size; other times or names do not change it. Files up
/// to 64 MiB are read whole, of larger ones 64 pieces of 512 KiB, the first and the last among them.
std::string content_fingerprint(SourceFile& file);

}  // namespace stc::text
