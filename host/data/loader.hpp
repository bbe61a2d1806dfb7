/// \file
/// Turns a dataset plugin into micro-batches, in one order whatever the number of workers, and knows
/// its position. Host memory only; no LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/config/settings.hpp"
#include "host/data/dataset.hpp"
#include "host/data/tokenizer.hpp"

namespace stc::host {

/// One field of a batch: dense row-major, first dimension = rows.
struct BatchField {
  std::string name;
  int dtype = 0;  // STC_DTYPE_*
  std::vector<int64_t> shape;
  std::shared_ptr<void> data;  // 64-byte aligned
  uint64_t bytes = 0;
};

/// A micro-batch. Shared and constant once returned; tensors may alias its memory while they hold it.
struct Batch {
  std::vector<BatchField> fields;  // input_ids, labels (int64), attention_mask (bool, only where padded), ...
  int64_t rows = 0;
  int64_t tokens = 0;         // numel of input_ids, or the mask's sum when there is a mask
  int64_t valid_labels = -1;  // labels other than -100; -1: no labels field
  std::string where;          // for errors: "tiny.txt, samples 9..12 of pass 2, from cursor 0, token 264"
  const BatchField* find(const std::string& name) const;
};

/// Where the next batch begins. Everything needed to continue at the exact next sample.
///
/// Indexed data: pass and sample say it all. Streams add the row to restart at. Blocks do not overlap
/// and batches end with a block, so no tokens are carried from one batch to the next.
struct LoaderPosition {
  uint64_t pass = 0;    // completed passes
  uint64_t sample = 0;  // samples consumed in this pass
  uint64_t samples_total = 0;
  uint64_t cursor = 0;     // streams: the dataset's cursor of the row to restart at
  uint64_t skip = 0;       // streams: tokens (of text and ids) or rows from there already used
  std::string carry_text;  // streams: text before that row, read but not yet tokenized
  bool operator==(const LoaderPosition&) const = default;
};
/// carry_text is written as hexadecimal digits: it may end inside a character.
Value to_value(const LoaderPosition& position);
/// \throws CheckpointError naming the key at fault.
LoaderPosition position_from_value(const Value& value);

/// What decides speed and memory, never the batches.
struct LoaderTuning {
  uint64_t piece_bytes = uint64_t{1} << 18;  // text asked of the dataset at a time, >= 1
};

/// A finite source is cycled. [one consumer thread]
///
/// With num_workers 0 batches are assembled in next(). Otherwise threads prepare up to num_workers *
/// prefetch_factor of them ahead: indexed rows on num_workers threads, a stream on one. Threads start
/// with the first next() and live until seek or the end.
class Loader {
 public:
  /// \param cancelled polled about ten times a second on several threads; may be empty.
  /// \throws PluginError, ConfigError, DataError when the parts do not fit each other.
  Loader(Dataset& dataset, Tokenizer* tokenizer, const DataSettings& settings, const std::string& split,
         std::function<bool()> cancelled, LoaderTuning tuning = {});
  /// Waits for its threads. A dataset that blocks must see host->cancelled to come back.
  ~Loader();
  /// Starts (again) at a position; drops what was prefetched.
  void seek(const LoaderPosition& position);
  /// Blocks until the next batch is there. An error stays: next() throws it again until seek.
  /// \throws DataError ("data loader produced no batches", malformed input with file and offset),
  /// Cancelled when the run ends and the batch does not come within a second; one that is there is
  /// still given, so that a step can be finished.
  std::shared_ptr<const Batch> next();
  /// Position after the batches returned so far (not after those prefetched).
  LoaderPosition position() const;
  /// Fingerprint of the data and of the settings that decide the order, for resume.
  Value fingerprint() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stc::host
