/// \file
/// The text of a run file with the places of its characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "host/errors/error.hpp"

namespace stc::host {

/// Text that is known to be UTF-8, lines ended by LF.
class SourceText {
 public:
  /// YAML may start with a byte-order mark and holds no control characters. JSON the reverse: its
  /// parser has its own rule for them.
  enum class Format { kYaml, kJson };
  /// CRLF and lone CR become LF. \throws ConfigError for UTF-16, UTF-32, malformed UTF-8, and the
  /// above.
  SourceText(std::string text, std::string file, Format format);

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }
  /// Columns count characters (code points) from 1. Not thread-safe.
  Location at_offset(size_t byte) const;
  /// Line from 1, without its end; empty beyond the last.
  std::string_view line(int number) const;
  int num_lines() const { return static_cast<int>(line_starts_.size()); }
  /// Byte offset of the first character of a line.
  size_t line_start(int number) const { return line_starts_[static_cast<size_t>(number - 1)]; }
  /// Replaces bytes of the text by as many others; lines must stay.
  void overwrite(size_t byte, std::string_view with) { text_.replace(byte, with.size(), with); }

 private:
  void refuse_wide_encodings() const;
  void normalise_line_ends();
  void check_characters(Format format) const;

  std::string text_;
  std::string file_;
  std::vector<size_t> line_starts_;
  /// The last answer of at_offset: files are read forwards, and a line may be megabytes long.
  struct Memo {
    size_t byte = 0;
    int line = 1;
    int column = 1;
  };
  mutable Memo memo_;
};

}  // namespace stc::host
