#include "host/data/row_reader.hpp"

#include <string>
#include <utility>

#include "host/errors/error.hpp"
#include "stc/abi/core.h"
#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

/// View of row i; offsets count elements.
std::string_view row_bytes(const Dataset& dataset, const std::vector<char>& data, const uint64_t* offsets, uint32_t i,
                           uint64_t element_bytes) {
  if (offsets[i] > offsets[i + 1] || offsets[i + 1] * element_bytes > data.size()) {
    throw PluginError("plugin " + dataset.name() + " (dataset): row offsets " + std::to_string(offsets[i]) + ".." +
                      std::to_string(offsets[i + 1]) + " leave the buffer of " + std::to_string(data.size()) +
                      " bytes");
  }
  return {data.data() + offsets[i] * element_bytes, (offsets[i + 1] - offsets[i]) * element_bytes};
}

stc_row_buffer ragged_buffer(std::vector<char>& data, uint64_t* offsets) {
  stc_row_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  buffer.data = data.data();
  buffer.capacity_bytes = data.size();
  buffer.offsets = offsets;
  return buffer;
}

}  // namespace

StreamRows::StreamRows(Dataset& dataset, const std::string& split, uint64_t piece_bytes)
    : dataset_(dataset),
      stream_(dataset.open(split, 0, 1)),
      element_bytes_(dtype_size(dataset.fields().front().dtype)),
      data_(piece_bytes) {}

void StreamRows::seek(uint64_t, uint64_t cursor) {
  num_rows_ = next_ = 0;
  ended_ = false;
  stream_->seek(cursor);
}

void StreamRows::fetch() {
  next_ = num_rows_ = 0;
  for (;;) {
    stc_row_buffer buffer = ragged_buffer(data_, offsets_);
    stream_->next(kRowsPerCall, &buffer, cursors_, flags_, &num_rows_, &ended_);
    if (num_rows_ > 0 || ended_) return;
    if (buffer.needed_bytes <= data_.size()) {
      throw PluginError("plugin " + dataset_.name() + " (dataset): next: neither rows nor the end");
    }
    data_.resize(buffer.needed_bytes);
  }
}

bool StreamRows::read(RaggedRow& row) {
  if (next_ == num_rows_) {
    if (ended_) return false;
    fetch();
    if (num_rows_ == 0) return false;
  }
  row.bytes = row_bytes(dataset_, data_, offsets_, next_, element_bytes_);
  row.cursor = cursors_[next_];
  row.continues = (flags_[next_] & STC_ROW_CONTINUES) != 0;
  ++next_;
  return true;
}

IndexedRows::IndexedRows(Dataset& dataset, const std::string& split, PassOrder order, uint64_t piece_bytes)
    : dataset_(dataset),
      stream_(dataset.open(split, 0, 1)),
      order_(order),
      element_bytes_(dtype_size(dataset.fields().front().dtype)),
      data_(piece_bytes) {}

void IndexedRows::seek(uint64_t pass, uint64_t cursor) {
  pass_ = pass;
  next_ = cursor;
}

bool IndexedRows::read(RaggedRow& row) {
  if (exhausted()) return false;
  int64_t index = 0;
  order_.rows(pass_, next_, 1, &index);
  uint64_t offsets[2] = {0, 0};
  for (;;) {
    stc_row_buffer buffer = ragged_buffer(data_, offsets);
    stream_->get(&index, 1, &buffer);
    if (buffer.needed_bytes <= data_.size()) break;
    data_.resize(buffer.needed_bytes);
  }
  row.bytes = row_bytes(dataset_, data_, offsets, 0, element_bytes_);
  row.cursor = next_++;
  row.continues = false;
  return true;
}

}  // namespace stc::host
