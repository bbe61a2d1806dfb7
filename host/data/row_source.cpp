#include <algorithm>
#include <cstdio>
#include <utility>

#include "host/data/batch_source.hpp"
#include "host/errors/error.hpp"
#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

constexpr int64_t kIgnored = -100;

bool is_integer(int dtype) { return dtype == STC_DTYPE_INT64 || dtype == STC_DTYPE_INT32 || dtype == STC_DTYPE_UINT16; }

/// Calls fn(i, value) for each element of an integer field.
template <class Fn>
void for_each(const BatchField& field, uint64_t n, const Fn& fn) {
  const auto each = [&](const auto* data) {
    for (uint64_t i = 0; i < n; ++i) fn(i, static_cast<int64_t>(data[i]));
  };
  switch (field.dtype) {
    case STC_DTYPE_INT64: return each(static_cast<const int64_t*>(field.data.get()));
    case STC_DTYPE_INT32: return each(static_cast<const int32_t*>(field.data.get()));
    case STC_DTYPE_UINT16: return each(static_cast<const uint16_t*>(field.data.get()));
    default: return each(static_cast<const uint8_t*>(field.data.get()));
  }
}

uint64_t numel(const BatchField& field) { return field.bytes / dtype_size(field.dtype); }

/// Lays out batches of ready rows, and counts what is in them.
class RowCollator {
 public:
  explicit RowCollator(const SourceParts& parts) : parts_(parts), pool_(BatchPool::make()) {
    for (const FieldInfo& field : parts.dataset->fields()) {
      if (field.form != STC_FIELD_READY || field.ragged()) {
        throw PluginError("plugin " + parts.dataset->name() + " (dataset): field " + field.name +
                          ": ready rows have a fixed shape, and all fields are ready or there is one field");
      }
    }
  }

  std::shared_ptr<Batch> allocate(uint64_t rows) {
    auto batch = pool_->batch();
    const auto& fields = parts_.dataset->fields();
    batch->fields.resize(fields.size());
    for (size_t f = 0; f < fields.size(); ++f) {
      BatchField& field = batch->fields[f];
      set_field(field, fields[f].name.c_str(), fields[f].dtype, {static_cast<int64_t>(rows)}, *pool_);
      field.shape.insert(field.shape.end(), fields[f].sizes.begin(), fields[f].sizes.end());
      field.bytes = rows * fields[f].row_bytes();
      field.data = pool_->memory(field.bytes);
    }
    return batch;
  }

  /// Where rows from `first` on go. \param buffers one a field.
  void target(const Batch& batch, uint64_t first, std::vector<stc_row_buffer>& buffers) const {
    buffers.assign(batch.fields.size(), {});
    for (size_t f = 0; f < buffers.size(); ++f) {
      const uint64_t used = first * parts_.dataset->fields()[f].row_bytes();
      buffers[f].struct_size = sizeof(stc_row_buffer);
      buffers[f].data = static_cast<char*>(batch.fields[f].data.get()) + used;
      buffers[f].capacity_bytes = batch.fields[f].bytes - used;
    }
  }

  /// Counts, checks ids, and names the batch; rows may be fewer than allocated.
  void finish(Batch& batch, uint64_t rows, const LoaderPosition& start) const {
    for (size_t f = 0; f < batch.fields.size(); ++f) {
      batch.fields[f].shape[0] = static_cast<int64_t>(rows);
      batch.fields[f].bytes = rows * parts_.dataset->fields()[f].row_bytes();
    }
    char place[128];
    std::snprintf(
        place, sizeof place, ", samples %llu..%llu of pass %llu", static_cast<unsigned long long>(start.sample + 1),
        static_cast<unsigned long long>(start.sample + rows), static_cast<unsigned long long>(start.pass + 1));
    batch.where.assign(parts_.dataset->source());
    batch.where.append(place);
    batch.rows = static_cast<int64_t>(rows);
    count_tokens(batch);
    count_labels(batch);
  }

 private:
  void count_tokens(Batch& batch) const {
    const BatchField* ids = batch.find("input_ids");
    const BatchField* inputs = batch.find("inputs");
    const BatchField& main = ids != nullptr ? *ids : inputs != nullptr ? *inputs : batch.fields.front();
    batch.tokens = static_cast<int64_t>(numel(main));
    const BatchField* mask = batch.find("attention_mask");
    if (mask != nullptr && (is_integer(mask->dtype) || dtype_size(mask->dtype) == 1)) {
      batch.tokens = 0;
      for_each(*mask, numel(*mask), [&](uint64_t, int64_t on) { batch.tokens += on != 0; });
    }
    if (ids != nullptr) check_ids(batch, *ids, false);
  }

  void count_labels(Batch& batch) const {
    const BatchField* labels = batch.find("labels");
    batch.valid_labels = -1;
    if (labels == nullptr) return;
    batch.valid_labels = static_cast<int64_t>(numel(*labels));
    if (!is_integer(labels->dtype)) return;
    for_each(*labels, numel(*labels), [&](uint64_t, int64_t label) { batch.valid_labels -= label == kIgnored; });
    if (batch.find("input_ids") != nullptr) check_ids(batch, *labels, true);
  }

  void check_ids(const Batch& batch, const BatchField& field, bool ignored_allowed) const {
    if (parts_.vocab_size == 0 || !is_integer(field.dtype)) return;
    const uint64_t per_row = numel(field) / static_cast<uint64_t>(batch.rows);
    for_each(field, numel(field), [&](uint64_t i, int64_t id) {
      if (static_cast<uint64_t>(id) < parts_.vocab_size || (ignored_allowed && id == kIgnored)) return;
      throw DataError(batch.where + ": " + field.name + ": id " + std::to_string(id) + " in row " +
                      std::to_string(i / per_row) + ", place " + std::to_string(i % per_row) + ", expected 0 to " +
                      std::to_string(parts_.vocab_size - 1) + (ignored_allowed ? ", or -100 (ignored)" : ""));
    });
  }

  const SourceParts& parts_;
  std::shared_ptr<BatchPool> pool_;
};

/// Batch numbers are arithmetic, so any thread can make any batch.
class IndexedSource : public BatchSource {
 public:
  explicit IndexedSource(SourceParts parts)
      : parts_(std::move(parts)), collator_(parts_), stream_(parts_.dataset->open(parts_.split, 0, 1)) {
    const uint64_t n = parts_.order.num_rows(), size = parts_.micro_batch_size;
    used_rows_ = parts_.drop_last ? n / size * size : n;
  }

  void seek(const LoaderPosition& position) override {
    start_ = position;
    if (position.sample > parts_.order.num_rows()) {
      throw DataError(parts_.dataset->source() + ": has " + std::to_string(parts_.order.num_rows()) +
                          " samples, the saved position is " + std::to_string(position.sample),
                      "the data changed since the checkpoint was written");
    }
  }

  Produced make(uint64_t number) override {
    LoaderPosition at = place(number);
    const uint64_t size = parts_.micro_batch_size;
    const uint64_t rows = std::min(size, parts_.order.num_rows() - at.sample);
    thread_local std::vector<int64_t> indices;
    thread_local std::vector<stc_row_buffer> buffers;
    indices.resize(rows);
    parts_.order.rows(at.pass, at.sample, rows, indices.data());
    auto batch = collator_.allocate(rows);
    collator_.target(*batch, 0, buffers);
    stream_->get(indices.data(), static_cast<uint32_t>(rows), buffers.data());
    collator_.finish(*batch, rows, at);
    at.sample += rows;
    at.samples_total += rows;
    if (!more(at.sample)) {
      ++at.pass;
      at.sample = 0;
    }
    return {std::move(batch), at};
  }

  bool concurrent() const override { return true; }

 private:
  /// True when a batch begins at this sample of a pass.
  bool more(uint64_t sample) const {
    const uint64_t left = parts_.order.num_rows() - sample;
    return parts_.drop_last ? left >= parts_.micro_batch_size : left > 0;
  }

  uint64_t batches(uint64_t rows) const {
    const uint64_t size = parts_.micro_batch_size;
    return parts_.drop_last ? rows / size : (rows + size - 1) / size;
  }

  /// The position in front of a batch.
  LoaderPosition place(uint64_t number) const {
    const uint64_t n = parts_.order.num_rows(), size = parts_.micro_batch_size;
    LoaderPosition at = start_;
    const uint64_t first_pass = batches(n - start_.sample);
    if (number < first_pass) {
      at.sample += number * size;
      at.samples_total += number * size;
      return at;
    }
    const uint64_t a_pass = batches(n);
    if (a_pass == 0) throw_no_batches(parts_, std::to_string(n) + " samples");
    number -= first_pass;
    at.samples_total += parts_.drop_last ? first_pass * size : n - start_.sample;
    at.pass += 1 + number / a_pass;
    at.sample = number % a_pass * size;
    at.samples_total += number / a_pass * used_rows_ + at.sample;
    return at;
  }

  SourceParts parts_;
  RowCollator collator_;
  std::unique_ptr<Stream> stream_;
  LoaderPosition start_;
  uint64_t used_rows_ = 0;  // of a whole pass
};

class StreamSource : public BatchSource {
 public:
  explicit StreamSource(SourceParts parts)
      : parts_(std::move(parts)), collator_(parts_), stream_(parts_.dataset->open(parts_.split, 0, 1)) {
    cursors_.resize(parts_.micro_batch_size);
    flags_.resize(parts_.micro_batch_size);
  }

  void seek(const LoaderPosition& position) override {
    position_ = position;
    ended_ = false;
    to_skip_ = position.skip;
    stream_->seek(position.cursor);
  }

  Produced make(uint64_t) override {
    for (;;) {
      const LoaderPosition start = position_;
      auto batch = collator_.allocate(parts_.micro_batch_size);
      skip_used(*batch);
      const uint64_t rows = read(*batch, 0, parts_.micro_batch_size);
      if (rows == parts_.micro_batch_size || (rows > 0 && !parts_.drop_last)) {
        collator_.finish(*batch, rows, start);
        advance(rows);
        return {std::move(batch), position_};
      }
      if (position_.sample == 0) throw_no_batches(parts_, std::to_string(rows) + " samples");
      next_pass();
    }
  }

  bool concurrent() const override { return false; }

 private:
  /// Rows of the batch from `first` on; fewer than n at the end of the pass.
  uint64_t read(const Batch& batch, uint64_t first, uint64_t n) {
    uint64_t have = 0;
    while (have < n && !ended_) {
      if (have > 0 && parts_.cancelled && parts_.cancelled()) throw Cancelled("data loading was interrupted");
      collator_.target(batch, first + have, buffers_);
      uint32_t got = 0;
      stream_->next(static_cast<uint32_t>(n - have), buffers_.data(), cursors_.data(), flags_.data(), &got, &ended_);
      if (got == 0 && !ended_) {
        throw PluginError("plugin " + parts_.dataset->name() + " (dataset): next: neither rows nor the end");
      }
      if (got > 0) last_cursor_ = cursors_[got - 1];
      have += got;
    }
    return have;
  }

  void skip_used(const Batch& scratch) {
    for (; to_skip_ > 0; --to_skip_) {
      if (read(scratch, 0, 1) == 0) {
        throw DataError(parts_.dataset->source() + ": ends before the saved position",
                        "the data changed since the checkpoint was written");
      }
    }
  }

  void advance(uint64_t rows) {
    position_.sample += rows;
    position_.samples_total += rows;
    position_.cursor = last_cursor_;
    position_.skip = 1;
    if (ended_) next_pass();
  }

  void next_pass() {
    ++position_.pass;
    position_.sample = position_.cursor = position_.skip = 0;
    seek(LoaderPosition(position_));
  }

  SourceParts parts_;
  RowCollator collator_;
  std::unique_ptr<Stream> stream_;
  std::vector<stc_row_buffer> buffers_;
  std::vector<uint64_t> cursors_;
  std::vector<uint32_t> flags_;
  LoaderPosition position_;
  uint64_t last_cursor_ = 0;
  uint64_t to_skip_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<BatchSource> make_indexed_source(SourceParts parts) {
  return std::make_unique<IndexedSource>(std::move(parts));
}

std::unique_ptr<BatchSource> make_stream_source(SourceParts parts) {
  return std::make_unique<StreamSource>(std::move(parts));
}

}  // namespace stc::host
