/// \file
/// The tokens of a text or id dataset as one stream, each with its place in the data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/data/row_reader.hpp"
#include "host/data/tokenizer.hpp"

namespace stc::host {

/// From where reading gives a token again.
struct TokenPlace {
  uint64_t cursor = 0;     // row to restart at
  uint64_t skip = 0;       // tokens between there and the token
  std::string carry_text;  // text before that row that belongs to tokens after it
};

/// Documents follow each other without a mark between them. Ids do not depend on how the dataset cuts
/// a document into rows: text is encoded up to the tokenizer's safe cut, the rest is kept for the next
/// row; a tokenizer without one gets whole documents. [one thread]
class TokenReader {
 public:
  /// \param tokenizer null for ids (STC_FIELD_IDS).
  TokenReader(const Dataset& dataset, std::unique_ptr<RowReader> rows, const Tokenizer* tokenizer,
              std::function<bool()> cancelled);
  /// Continues at a place of a pass. Reads nothing yet.
  void seek(uint64_t pass, const TokenPlace& place);
  /// Reads until `wanted` ids are there. False when the pass ends before.
  bool fill(uint64_t wanted);
  const int32_t* ids() const { return ids_.data() + begin_; }
  uint64_t available() const { return ids_.size() - begin_; }
  void consume(uint64_t n) {
    begin_ += n;
    head_ += n;
  }
  /// True when nothing is known to follow the ids that are there.
  bool exhausted() const { return ended_ || (text_.empty() && rows_->exhausted()); }
  /// Place of the first id, or of the end.
  void place(TokenPlace& out);

 private:
  /// The ids that one reading step gave; head_ counts from the last seek.
  struct Unit {
    uint64_t first = 0;
    TokenPlace start;
  };
  bool read_unit();
  void append(const RaggedRow& row);
  void append_text(const RaggedRow& row);
  void append_ids(std::string_view bytes);
  void append_rest();  // of a stream whose last row promised another
  void skip_used();

  const Dataset& dataset_;
  std::unique_ptr<RowReader> rows_;
  const Tokenizer* tokenizer_;
  std::function<bool()> cancelled_;
  bool safe_cut_;
  int dtype_;
  std::vector<int32_t> ids_;  // pending from begin_ on
  uint64_t begin_ = 0;
  uint64_t head_ = 0;  // tokens consumed since seek, the skipped ones included
  uint64_t to_skip_ = 0;
  bool ended_ = false;
  std::string text_;         // read but not yet encoded
  TokenPlace origin_;        // of seek
  std::vector<Unit> units_;  // those that pending ids come from, oldest first
};

}  // namespace stc::host
