#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source_file.hpp"
#include "stc/plain/dataset.hpp"
#include "translate.hpp"

namespace stc::text {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Reads the file piece by piece. A piece ends with a character, never between CR and LF, so that the
/// offset behind it is all that is needed to go on there.
class TextStream {
 public:
  /// \param file null: a shard without the document.
  TextStream(Host host, std::unique_ptr<SourceFile> file, std::atomic<bool>& mark_noted)
      : host_(host), mark_noted_(mark_noted), file_(std::move(file)), raw_(kRawBytes), piece_(kPieceBytes) {}

  bool next(uint32_t n, Rows& out) {
    if (!file_) {
      return false;
    }
    while (out.size() < n) {
      if (!wait_for_text()) {
        return false;
      }
      const std::string_view raw = pending();
      Translated done = checked_translate(raw, out.room(0));
      if (done.written == 0) {  // not even one character fits: say what a piece needs
        done = checked_translate(raw, kPieceBytes);
        out.add_text({piece_.data(), done.written}, offset_);
        return true;
      }
      begin_ += done.used;
      look_ahead();
      const bool more = !(ended_ && begin_ == end_);
      out.add_text({piece_.data(), done.written}, offset_, more ? STC_ROW_CONTINUES : 0);
      offset_ += done.used;
      if (!more) {
        return false;
      }
      // Pieces are full ones wherever reading began, and what came through a pipe goes on at once.
      if (out.room(0) < kPieceBytes || !file_->is_regular()) {
        return true;
      }
    }
    return true;
  }

  void seek(uint64_t cursor) {
    if (file_) {
      file_->seek(cursor);
    }
    offset_ = cursor;
    begin_ = end_ = 0;
    ended_ = false;
  }

 private:
  static constexpr size_t kRawBytes = 256u << 10;
  static constexpr size_t kPieceBytes = 64u << 10;
  static constexpr size_t kLongestCharacter = 4;

  std::string_view pending() const { return {raw_.data() + begin_, end_ - begin_}; }

  /// Reads once more behind what is pending.
  void read_more() {
    std::copy(raw_.begin() + static_cast<std::ptrdiff_t>(begin_), raw_.begin() + static_cast<std::ptrdiff_t>(end_),
              raw_.begin());
    end_ -= begin_;
    begin_ = 0;
    const size_t n = file_->read(std::span(raw_).subspan(end_));
    end_ += n;
    ended_ = n == 0;
  }

  /// Reads until a piece can begin: the mark is past, and the first character, or what a CR means, is
  /// decided. Of a regular file, until a full piece is there. False at the end.
  bool wait_for_text() {
    while (file_->is_regular() && !ended_ && end_ - begin_ < kPieceBytes + kLongestCharacter) {
      read_more();
    }
    for (;;) {
      const std::string_view raw = pending();
      if (offset_ == 0 && !ended_ && raw.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(raw)) {
        read_more();
        continue;
      }
      if (offset_ == 0 && raw.starts_with(kByteOrderMark)) {
        skip_mark();
        continue;
      }
      const bool open_end = raw.size() < kLongestCharacter && !ended_;
      if (!open_end || (!raw.empty() && raw[0] != '\r' && raw.size() >= character_bytes(raw))) {
        return !raw.empty();
      }
      if (raw.size() > 1 && raw[0] == '\r') {
        return true;
      }
      read_more();
    }
  }

  void skip_mark() {
    begin_ += kByteOrderMark.size();
    offset_ += kByteOrderMark.size();
    if (!mark_noted_.exchange(true)) {
      host_.info(file_->shown() + ": byte-order mark at the start is dropped");
    }
  }

  /// Learns whether the end is near where that costs no waiting.
  void look_ahead() {
    if (begin_ == end_ && !ended_ && file_->ready()) {
      read_more();
    }
  }

  Translated checked_translate(std::string_view raw, uint64_t room) {
    try {
      return translate(raw, ended_, piece_.data(), std::min<uint64_t>(room, piece_.size()));
    } catch (const BadUtf8& bad) {
      const bool utf16 = offset_ + bad.offset == 0 && (raw.starts_with("\xff\xfe") || raw.starts_with("\xfe\xff"));
      file_->fail("not UTF-8 at offset " + std::to_string(offset_ + bad.offset) + ", " + bad.reason +
                  (utf16 ? "; it looks like UTF-16" : "") + "; convert the file (iconv -t utf-8)");
    }
  }

  Host host_;
  std::atomic<bool>& mark_noted_;
  std::unique_ptr<SourceFile> file_;
  std::vector<char> raw_;    // bytes of the file, [begin_, end_) not yet translated
  std::vector<char> piece_;  // translated
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;  // in the file, of begin_
  bool ended_ = false;   // the file ends at end_
};

/// One UTF-8 file as one document.
class Text {
 public:
  struct Params {
    std::optional<std::string> text_path;
    template <class V>
    static void describe(V& v) {
      v.path("text_path", &Params::text_path, "UTF-8 text file, or a pipe");
    }
  };

  Text(const Params& params, Host host) : host_(host), path_(params.text_path.value_or("")) {
    if (path_.empty()) {
      throw Fault::config("text_path", "got null, expected a text file");
    }
    try {
      auto file = open_file();
      fingerprint_ = content_fingerprint(*file);
      size_ = file->size();
      std::array<char, 1> first;
      if (!file->is_regular()) {
        pipe_ = std::move(file);
      } else if (file->read(first) == 0) {
        file->fail("is empty");
      }
    } catch (const Fault& fault) {
      if (fault.code() != STC_ERROR_IO) {
        throw;
      }
      throw Fault::config("text_path", fault.what());
    }
  }

  std::vector<Split> splits() const { return {{"train", -1, size_}}; }
  std::vector<Field> fields() const { return {Field::text()}; }
  std::string fingerprint() const { return fingerprint_; }

  /// Shards share documents, so the first one has it all.
  std::unique_ptr<TextStream> open(std::string_view split, uint32_t shard, uint32_t) {
    if (split != "train") {
      throw Fault(STC_ERROR_NOT_FOUND, path_ + ": no split " + std::string(split) + ", it has train");
    }
    std::unique_ptr<SourceFile> file;
    if (shard == 0) {
      const std::lock_guard lock(mutex_);
      file = pipe_ ? std::move(pipe_) : open_file();
    }
    return std::make_unique<TextStream>(host_, std::move(file), mark_noted_);
  }

 private:
  std::unique_ptr<SourceFile> open_file() const {
    return std::make_unique<SourceFile>(host_, path_, host_.path_resolve(path_));
  }

  Host host_;
  std::string path_;
  std::string fingerprint_;
  uint64_t size_ = 0;
  std::atomic<bool> mark_noted_{false};
  std::mutex mutex_;
  std::unique_ptr<SourceFile> pipe_;  // for the first stream: closing it would cost its writer; guarded by mutex_
};

}  // namespace stc::text

using stc::text::Text;
STC_DATASET_PLUGIN(Text, "text", "1.0.0", "one UTF-8 text file")
