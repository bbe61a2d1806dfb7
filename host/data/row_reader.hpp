/// \file
/// Ragged rows (documents or pieces of them) of one pass, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/data/permutation.hpp"

namespace stc::host {

struct RaggedRow {
  std::string_view bytes;  // valid until the next read or seek
  uint64_t cursor = 0;     // seek(pass, cursor) restarts at this row
  bool continues = false;  // the next row goes on with the same document
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  /// cursor 0 is the first row of a pass.
  virtual void seek(uint64_t pass, uint64_t cursor) = 0;
  /// False when the pass has no further row.
  virtual bool read(RaggedRow& row) = 0;
  /// True when the rows read so far are known to be all; false does not say that more will come.
  virtual bool exhausted() const = 0;
};

/// Rows in the order of the stream.
class StreamRows : public RowReader {
 public:
  StreamRows(Dataset& dataset, const std::string& split, uint64_t piece_bytes);
  void seek(uint64_t pass, uint64_t cursor) override;
  bool read(RaggedRow& row) override;
  bool exhausted() const override { return ended_ && next_ == num_rows_; }

 private:
  static constexpr uint32_t kRowsPerCall = 64;
  void fetch();

  const Dataset& dataset_;
  std::unique_ptr<Stream> stream_;
  uint64_t element_bytes_;
  std::vector<char> data_;
  uint64_t offsets_[kRowsPerCall + 1] = {};
  uint64_t cursors_[kRowsPerCall] = {};
  uint32_t flags_[kRowsPerCall] = {};
  uint32_t num_rows_ = 0;
  uint32_t next_ = 0;
  bool ended_ = false;
};

/// Rows by index, in the order of the pass. The cursor is the number of rows before it.
class IndexedRows : public RowReader {
 public:
  IndexedRows(Dataset& dataset, const std::string& split, PassOrder order, uint64_t piece_bytes);
  void seek(uint64_t pass, uint64_t cursor) override;
  bool read(RaggedRow& row) override;
  bool exhausted() const override { return next_ >= order_.num_rows(); }

 private:
  const Dataset& dataset_;
  std::unique_ptr<Stream> stream_;
  PassOrder order_;
  uint64_t element_bytes_;
  std::vector<char> data_;
  uint64_t pass_ = 0;
  uint64_t next_ = 0;
};

}  // namespace stc::host
