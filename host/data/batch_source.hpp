/// \file
/// Makes the batches of a loader, one number at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/data/batch_pool.hpp"
#include "host/data/loader.hpp"
#include "host/data/permutation.hpp"
#include "host/data/token_reader.hpp"

namespace stc::host {

/// A batch and the position behind it.
struct Produced {
  std::shared_ptr<const Batch> batch;
  LoaderPosition after;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Batch 0 is the one that begins at the position from here on. No make is running.
  virtual void seek(const LoaderPosition& position) = 0;
  /// \param number counts from the last seek. A concurrent source answers any number on any thread; the
  /// others are asked for 0, 1, 2 ... on one thread.
  /// \throws DataError, PluginError, Cancelled
  virtual Produced make(uint64_t number) = 0;
  virtual bool concurrent() const = 0;
};

/// What all sources need. The dataset and the tokenizer outlive them.
struct SourceParts {
  Dataset* dataset = nullptr;
  const Tokenizer* tokenizer = nullptr;
  std::string split;
  uint64_t micro_batch_size = 1;
  uint64_t block_size = 0;
  uint64_t vocab_size = 0;  // 0: ids are not checked
  bool drop_last = true;
  PassOrder order{0, false, 0};
  uint64_t piece_bytes = 0;
  std::function<bool()> cancelled;
};

/// Text and ids: blocks of block_size + 1 tokens, as inputs and labels shifted by one.
std::unique_ptr<BatchSource> make_block_source(SourceParts parts);
/// Ready rows by index; concurrent.
std::unique_ptr<BatchSource> make_indexed_source(SourceParts parts);
/// Ready rows as a stream.
std::unique_ptr<BatchSource> make_stream_source(SourceParts parts);

/// Sets shape, bytes and fresh memory of a field.
void set_field(BatchField& field, const char* name, int dtype, std::initializer_list<int64_t> shape, BatchPool& pool);

/// "data loader produced no batches", with what the pass gave.
[[noreturn]] void throw_no_batches(const SourceParts& parts, const std::string& found);

}  // namespace stc::host
