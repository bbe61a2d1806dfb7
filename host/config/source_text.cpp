#include "host/config/source_text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "stc/plain/utf8.hpp"

namespace stc::host {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

unsigned char byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_continuation(unsigned char c) { return (c & 0xC0) == 0x80; }

std::string hex(unsigned char c) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", c);
  return text;
}

}  // namespace

SourceText::SourceText(std::string text, std::string file, Format format)
    : text_(std::move(text)), file_(std::move(file)) {
  refuse_wide_encodings();
  if (text_.starts_with(kUtf8Mark)) {
    if (format == Format::kJson) {
      throw ConfigError(file_ + ": starts with a byte-order mark, expected plain UTF-8",
                        "save the file without a byte-order mark", {file_, 1, 1});
    }
    text_.erase(0, kUtf8Mark.size());
  }
  normalise_line_ends();
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
  check_characters(format);
}

void SourceText::refuse_wide_encodings() const {
  std::string_view head(text_);
  head = head.substr(0, 4);
  const char* found = nullptr;
  if (head == "\xFF\xFE\0\0"sv || head == "\0\0\xFE\xFF"sv) found = "UTF-32";
  if (!found && (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF"))) found = "UTF-16";
  if (!found && head.size() == 4) {
    bool little = head[0] != 0 && head[1] == 0 && head[3] == 0;
    bool big = head[0] == 0 && head[1] != 0 && head[2] == 0;
    if (little || big) found = "UTF-16";
  }
  if (!found) return;
  throw ConfigError(file_ + ": looks like " + found + ", expected UTF-8", "save the file as UTF-8", {file_, 1, 1});
}

void SourceText::normalise_line_ends() {
  size_t out = 0;
  for (size_t i = 0; i < text_.size(); ++i) {
    char c = text_[i];
    if (c == '\r') {
      c = '\n';
      if (i + 1 < text_.size() && text_[i + 1] == '\n') ++i;
    }
    text_[out++] = c;
  }
  text_.resize(out);
}

void SourceText::check_characters(Format format) const {
  for (size_t i = 0; i < text_.size();) {
    size_t length = utf8_sequence_length(std::string_view(text_).substr(i));
    unsigned char c = byte_at(text_, i);
    if (length == 0) {
      throw ConfigError(file_ + ": byte " + hex(c) + " is not UTF-8", "save the file as UTF-8", at_offset(i));
    }
    bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    if (control && format == Format::kYaml) {
      throw ConfigError(file_ + ": control character " + hex(c) + " is not text", {}, at_offset(i));
    }
    i += length;
  }
}

Location SourceText::at_offset(size_t byte) const {
  byte = std::min(byte, text_.size());
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), byte);
  auto line = static_cast<int>(after - line_starts_.begin());
  Memo here{line_starts_[static_cast<size_t>(line - 1)], line, 1};
  if (memo_.line == line && memo_.byte <= byte) here = memo_;
  for (; here.byte < byte; ++here.byte) {
    if (!is_continuation(byte_at(text_, here.byte))) ++here.column;
  }
  memo_ = here;
  return {file_, here.line, here.column};
}

std::string_view SourceText::line(int number) const {
  if (number < 1 || number > num_lines()) return {};
  std::string_view rest = std::string_view(text_).substr(line_start(number));
  return rest.substr(0, rest.find('\n'));
}

}  // namespace stc::host
