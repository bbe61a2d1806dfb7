#include "host/data/token_reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "host/errors/error.hpp"

namespace stc::host {

TokenReader::TokenReader(const Dataset& dataset, std::unique_ptr<RowReader> rows, const Tokenizer* tokenizer,
                         std::function<bool()> cancelled)
    : dataset_(dataset),
      rows_(std::move(rows)),
      tokenizer_(tokenizer),
      cancelled_(std::move(cancelled)),
      safe_cut_(tokenizer != nullptr && tokenizer->has_safe_cut()),
      dtype_(dataset.fields().front().dtype) {}

void TokenReader::seek(uint64_t pass, const TokenPlace& place) {
  ids_.clear();
  units_.clear();
  begin_ = head_ = 0;
  to_skip_ = place.skip;
  ended_ = false;
  origin_ = place;
  text_ = place.carry_text;
  rows_->seek(pass, place.cursor);
}

bool TokenReader::fill(uint64_t wanted) {
  if (to_skip_ > 0) skip_used();
  while (available() < wanted) {
    if (!read_unit()) return false;
  }
  return true;
}

void TokenReader::skip_used() {
  while (to_skip_ > 0) {
    if (available() == 0 && !read_unit()) {
      throw DataError(dataset_.source() + ": ends " + std::to_string(to_skip_) + " tokens before the saved position",
                      "the data changed since the checkpoint was written");
    }
    const uint64_t n = std::min(to_skip_, available());
    consume(n);
    to_skip_ -= n;
  }
}

void TokenReader::place(TokenPlace& out) {
  if (units_.empty()) {
    out = origin_;
    return;
  }
  size_t current = units_.size() - 1;
  while (current > 0 && units_[current].first > head_) --current;
  units_.erase(units_.begin(), units_.begin() + static_cast<std::ptrdiff_t>(current));
  const Unit& unit = units_.front();
  out = unit.start;
  out.skip = head_ - unit.first;
}

bool TokenReader::read_unit() {
  if (ended_) return false;
  if (begin_ > 0) {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  Unit unit;
  unit.first = head_ + ids_.size();
  unit.start.carry_text = text_;
  const size_t before = ids_.size();
  bool first = true;
  RaggedRow row;
  while (ids_.size() == before) {
    if (!first && cancelled_ && cancelled_()) throw Cancelled("data loading was interrupted");
    if (!rows_->read(row)) {
      ended_ = true;
      append_rest();
      break;
    }
    if (first) unit.start.cursor = row.cursor;
    first = false;
    append(row);
  }
  if (ids_.size() == before) return false;
  if (!first) {
    units_.push_back(std::move(unit));
  } else if (units_.empty()) {  // nothing but carried text: its place is where reading began
    units_.push_back({0, origin_});
  }
  return true;
}

void TokenReader::append_rest() {
  if (text_.empty()) return;
  tokenizer_->encode(text_, ids_);
  text_.clear();
}

void TokenReader::append(const RaggedRow& row) {
  if (tokenizer_ == nullptr) {
    append_ids(row.bytes);
  } else {
    append_text(row);
  }
}

void TokenReader::append_text(const RaggedRow& row) {
  std::string_view text = row.bytes;
  if (!text_.empty()) {
    text_ += row.bytes;
    text = text_;
  }
  const uint64_t cut = !row.continues ? text.size()
                       : safe_cut_    ? std::min<uint64_t>(tokenizer_->safe_cut(text), text.size())
                                      : 0;
  if (cut > 0) tokenizer_->encode(text.substr(0, cut), ids_);
  if (text_.empty()) {
    text_.assign(text.substr(cut));
  } else {
    text_.erase(0, cut);
  }
}

namespace {

template <class T>
int32_t id_from(const char* at, uint64_t i, const Dataset& dataset) {
  T value;
  std::memcpy(&value, at + i * sizeof value, sizeof value);
  if (std::cmp_less(value, 0) || std::cmp_greater(value, std::numeric_limits<int32_t>::max())) {
    throw DataError(dataset.source() + ": token id " + std::to_string(value) + ", expected 0 to 2147483647");
  }
  return static_cast<int32_t>(value);
}

}  // namespace

void TokenReader::append_ids(std::string_view bytes) {
  const auto append_as = [&](auto zero) {
    const uint64_t n = bytes.size() / sizeof zero;
    for (uint64_t i = 0; i < n; ++i) ids_.push_back(id_from<decltype(zero)>(bytes.data(), i, dataset_));
  };
  switch (dtype_) {
    case STC_DTYPE_UINT8: return append_as(uint8_t{});
    case STC_DTYPE_UINT16: return append_as(uint16_t{});
    case STC_DTYPE_INT32: return append_as(int32_t{});
    case STC_DTYPE_UINT32: return append_as(uint32_t{});
    default: return append_as(int64_t{});
  }
}

}  // namespace stc::host
