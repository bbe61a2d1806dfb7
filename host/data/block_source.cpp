#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "host/data/batch_source.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

constexpr int64_t kIgnored = -100;  // label of padding

/// Widens n + 1 ids into n inputs and n labels; returns the largest id as unsigned, so that a negative
/// one is large.
uint32_t copy_shifted(const int32_t* ids, uint64_t n, int64_t* inputs, int64_t* labels) {
  uint32_t largest = static_cast<uint32_t>(ids[0]);
  inputs[0] = ids[0];
  for (uint64_t i = 1; i < n; ++i) {
    largest = std::max(largest, static_cast<uint32_t>(ids[i]));
    inputs[i] = ids[i];
  }
  for (uint64_t i = 0; i < n; ++i) labels[i] = ids[i + 1];
  return std::max(largest, static_cast<uint32_t>(ids[n]));
}

class BlockSource : public BatchSource {
 public:
  explicit BlockSource(SourceParts parts)
      : parts_(std::move(parts)),
        pool_(BatchPool::make()),
        tokens_(*parts_.dataset, make_rows(parts_), parts_.tokenizer, parts_.cancelled) {}

  void seek(const LoaderPosition& position) override {
    position_ = position;
    tokens_.seek(position.pass, {position.cursor, position.skip, position.carry_text});
  }

  Produced make(uint64_t) override {
    for (;;) {
      tokens_.place(start_);
      std::shared_ptr<Batch> batch = assemble();
      if (batch) return {std::move(batch), position_};
      if (position_.sample == 0) {
        throw_no_batches(parts_, dropped_rows_ > 0 ? std::to_string(dropped_rows_) + " samples"
                                                   : std::to_string(tokens_.available()) + " tokens");
      }
      next_pass();
    }
  }

  bool concurrent() const override { return false; }

 private:
  static std::unique_ptr<RowReader> make_rows(const SourceParts& parts) {
    if (parts.dataset->indexed()) {
      return std::make_unique<IndexedRows>(*parts.dataset, parts.split, parts.order, parts.piece_bytes);
    }
    return std::make_unique<StreamRows>(*parts.dataset, parts.split, parts.piece_bytes);
  }

  /// The next batch of this pass, or null at its end.
  std::shared_ptr<Batch> assemble() {
    const uint64_t width = parts_.block_size;
    const auto most = static_cast<int64_t>(parts_.micro_batch_size);
    dropped_rows_ = 0;
    if (!tokens_.fill(width + 1) && !room_for_batch()) return nullptr;
    auto batch = pool_->batch();
    batch->fields.resize(2);
    set_field(batch->fields[0], "input_ids", STC_DTYPE_INT64, {most, static_cast<int64_t>(width)}, *pool_);
    set_field(batch->fields[1], "labels", STC_DTYPE_INT64, {most, static_cast<int64_t>(width)}, *pool_);
    auto* inputs = static_cast<int64_t*>(batch->fields[0].data.get());
    auto* labels = static_cast<int64_t*>(batch->fields[1].data.get());
    int64_t rows = 0;
    uint64_t last = width;  // length of the last row
    while (rows < most && last == width) {
      tokens_.fill(width + 1);
      if (tokens_.available() < 2) break;
      last = std::min(width, tokens_.available() - 1);
      take_row(last, inputs + rows * static_cast<int64_t>(width), labels + rows * static_cast<int64_t>(width), rows);
      ++rows;
    }
    dropped_rows_ = rows;
    if (rows == 0 || (rows < most && parts_.drop_last)) return nullptr;
    shape(*batch, rows, last);
    advance(static_cast<uint64_t>(rows));
    return batch;
  }

  bool room_for_batch() const { return tokens_.available() >= 2; }

  void take_row(uint64_t length, int64_t* inputs, int64_t* labels, int64_t row) {
    const uint32_t largest = copy_shifted(tokens_.ids(), length, inputs, labels);
    if (parts_.vocab_size > 0 && largest >= parts_.vocab_size) throw_bad_id(length, row);
    tokens_.consume(length + 1);
  }

  [[noreturn]] void throw_bad_id(uint64_t length, int64_t row) {
    const int32_t* ids = tokens_.ids();
    uint64_t i = 0;
    while (i < length && static_cast<uint32_t>(ids[i]) < parts_.vocab_size) ++i;
    TokenPlace place;
    tokens_.place(place);
    throw DataError(parts_.dataset->source() + ": token id " + std::to_string(ids[i]) + " in sample " +
                    std::to_string(position_.sample + static_cast<uint64_t>(row) + 1) + " (token " +
                    std::to_string(place.skip + i) + " from cursor " + std::to_string(place.cursor) +
                    "), expected 0 to " + std::to_string(parts_.vocab_size - 1));
  }

  /// Pads a short last row; a single one just makes the batch narrow.
  void shape(Batch& batch, int64_t rows, uint64_t last) {
    const uint64_t width = rows == 1 ? last : parts_.block_size;
    const int64_t padding = static_cast<int64_t>(width - last);
    for (BatchField& field : batch.fields) {
      field.shape[0] = rows;
      field.shape[1] = static_cast<int64_t>(width);
      field.bytes = static_cast<uint64_t>(rows) * width * sizeof(int64_t);
      auto* end = static_cast<int64_t*>(field.data.get()) + rows * static_cast<int64_t>(width);
      std::fill(end - padding, end, field.name == "labels" ? kIgnored : 0);
    }
    batch.rows = rows;
    batch.tokens = batch.valid_labels = rows * static_cast<int64_t>(width) - padding;
    if (padding > 0) {
      batch.fields.emplace_back();
      BatchField& mask = batch.fields.back();
      set_field(mask, "attention_mask", STC_DTYPE_BOOL, {rows, static_cast<int64_t>(width)}, *pool_);
      auto* flags = static_cast<uint8_t*>(mask.data.get());
      std::memset(flags, 1, mask.bytes - static_cast<uint64_t>(padding));
      std::memset(flags + mask.bytes - padding, 0, static_cast<size_t>(padding));
    }
    char place[192];
    std::snprintf(place, sizeof place, ", samples %llu..%llu of pass %llu, from cursor %llu, token %llu",
                  static_cast<unsigned long long>(position_.sample + 1),
                  static_cast<unsigned long long>(position_.sample + static_cast<uint64_t>(rows)),
                  static_cast<unsigned long long>(position_.pass + 1), static_cast<unsigned long long>(start_.cursor),
                  static_cast<unsigned long long>(start_.skip));
    batch.where.assign(parts_.dataset->source());
    batch.where.append(place);
  }

  void advance(uint64_t rows) {
    position_.sample += rows;
    position_.samples_total += rows;
    const uint64_t least = parts_.drop_last ? (parts_.micro_batch_size - 1) * (parts_.block_size + 1) + 2 : 2;
    if (tokens_.exhausted() && tokens_.available() < least) {
      next_pass();
      return;
    }
    tokens_.place(start_);
    position_.cursor = start_.cursor;
    position_.skip = start_.skip;
    position_.carry_text = start_.carry_text;
  }

  void next_pass() {
    ++position_.pass;
    position_.sample = position_.cursor = position_.skip = 0;
    position_.carry_text.clear();
    seek(LoaderPosition(position_));
  }

  SourceParts parts_;
  std::shared_ptr<BatchPool> pool_;
  TokenReader tokens_;
  LoaderPosition position_;  // behind the last batch
  TokenPlace start_;         // of the batch being made
  int64_t dropped_rows_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> make_block_source(SourceParts parts) {
  return std::make_unique<BlockSource>(std::move(parts));
}

}  // namespace stc::host
