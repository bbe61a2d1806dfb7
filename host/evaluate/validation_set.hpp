/// \file
/// A validation text: a dataset of its own, walked once from begin to end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/config/settings.hpp"
#include "host/data/loader.hpp"

namespace stc::host {

/// Batches are those of data.micro_batch_size and data.block_size, in the order of the text, the
/// short last one included, made on the calling thread. [train-thread]
class ValidationSet {
 public:
  /// \param tokenizer outlives the set; null when the dataset has no text.
  /// \param cancelled as Loader's: a read that waits comes back with Cancelled.
  /// \throws DataError when the set does not hold one sample.
  ValidationSet(std::string name, std::unique_ptr<Dataset> dataset, Tokenizer* tokenizer, const DataSettings& data,
                std::function<bool()> cancelled);
  const std::string& name() const { return name_; }
  /// Back to the first batch.
  void rewind();
  /// The next batch, null behind the last one: the loader below would begin another pass.
  std::shared_ptr<const Batch> next();
  /// Bytes of text behind the batch's valid labels: their tokens decoded. nullopt without text.
  std::optional<uint64_t> text_bytes(const Batch& batch) const;

 private:
  std::string name_;
  std::unique_ptr<Dataset> dataset_;
  Tokenizer* tokenizer_;  // null: no text
  std::unique_ptr<Loader> loader_;
  bool ended_ = false;
};

}  // namespace stc::host
