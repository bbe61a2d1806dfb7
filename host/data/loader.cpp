#include "host/data/loader.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "host/data/batch_source.hpp"
#include "host/data/ordered_queue.hpp"
#include "host/errors/error.hpp"
#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

[[noreturn]] void refuse(const Dataset& dataset, const std::string& what) {
  throw PluginError("plugin " + dataset.name() + " (dataset): " + what);
}

/// A field that the host tokenizes or blocks stands alone and is a list of elements a row.
void check_ragged_field(const Dataset& dataset) {
  const FieldInfo& field = dataset.fields().front();
  if (dataset.fields().size() > 1) refuse(dataset, "field " + field.name + ": text or ids are the only field");
  if (field.sizes != std::vector<int64_t>{-1}) refuse(dataset, "field " + field.name + ": expected sizes [-1]");
  const bool text = field.form == STC_FIELD_UTF8;
  const bool fits = text ? dtype_size(field.dtype) == 1
                         : field.dtype == STC_DTYPE_UINT8 || field.dtype == STC_DTYPE_UINT16 ||
                               field.dtype == STC_DTYPE_INT32 || field.dtype == STC_DTYPE_UINT32 ||
                               field.dtype == STC_DTYPE_INT64;
  if (!fits) refuse(dataset, "field " + field.name + ": dtype " + std::to_string(field.dtype));
}

void check_tokenizer(const Dataset& dataset, const Tokenizer* tokenizer, const DataSettings& settings) {
  if (tokenizer == nullptr) refuse(dataset, "text needs a tokenizer");
  const uint64_t size = tokenizer->size();
  if (settings.vocab_size > 0 && size > static_cast<uint64_t>(settings.vocab_size)) {
    throw ConfigError("data.tokenizer: " + tokenizer->name() + " has " + std::to_string(size) +
                          " ids, model.vocab_size is " + std::to_string(settings.vocab_size),
                      "set model.vocab_size to at least " + std::to_string(size));
  }
}

std::unique_ptr<BatchSource> make_source(Dataset& dataset, const Tokenizer* tokenizer, const DataSettings& settings,
                                         SourceParts parts) {
  const FieldInfo& field = dataset.fields().front();
  if (field.form == STC_FIELD_READY) {
    return dataset.indexed() ? make_indexed_source(std::move(parts)) : make_stream_source(std::move(parts));
  }
  check_ragged_field(dataset);
  if (field.form == STC_FIELD_UTF8) {
    check_tokenizer(dataset, tokenizer, settings);
    parts.tokenizer = tokenizer;
  }
  if (settings.block_size < 1) {
    throw ConfigError("data.block_size: got " + std::to_string(settings.block_size) + ", expected > 0");
  }
  return make_block_source(std::move(parts));
}

}  // namespace

const BatchField* Batch::find(const std::string& name) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const BatchField& f) { return f.name == name; });
  return it == fields.end() ? nullptr : &*it;
}

void set_field(BatchField& field, const char* name, int dtype, std::initializer_list<int64_t> shape, BatchPool& pool) {
  field.name.assign(name);
  field.dtype = dtype;
  field.shape.assign(shape);
  field.bytes = dtype_size(dtype);
  for (const int64_t size : shape) field.bytes *= static_cast<uint64_t>(size);
  field.data = pool.memory(field.bytes);
}

void throw_no_batches(const SourceParts& parts, const std::string& found) {
  throw DataError("data loader produced no batches",
                  parts.dataset->source() + " gave " + found + "; a sample needs 2 tokens, a batch " +
                      (parts.drop_last ? std::to_string(parts.micro_batch_size) + " samples (data.drop_last is true)"
                                       : "one sample"));
}

struct Loader::Impl {
  Impl(Dataset& data, Tokenizer* tok, const DataSettings& given, std::string which, std::function<bool()> stop)
      : dataset(data), tokenizer(tok), settings(given), split(std::move(which)), cancelled(std::move(stop)) {}
  ~Impl() { stop_threads(); }

  void start_threads() {
    const uint64_t workers = static_cast<uint64_t>(settings.num_workers);
    queue = std::make_unique<OrderedQueue<Produced>>(workers * static_cast<uint64_t>(settings.prefetch_factor));
    const uint64_t n = source->concurrent() ? workers : 1;
    for (uint64_t i = 0; i < n; ++i) threads.emplace_back([this] { work(); });
  }

  void stop_threads() {
    if (queue) queue->stop();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    queue.reset();
  }

  void work() {
    while (const auto claimed = queue->claim()) {
      try {
        queue->put(*claimed, source->make(*claimed));
      } catch (...) {
        queue->fail(*claimed, std::current_exception());
        return;
      }
    }
  }

  Produced next() {
    if (settings.num_workers == 0) {
      if (error) std::rethrow_exception(error);
      try {
        return source->make(number++);
      } catch (...) {
        error = std::current_exception();
        throw;
      }
    }
    if (!queue) start_threads();
    auto produced = queue->take(cancelled);
    if (!produced) throw Cancelled("data loading was interrupted");
    return *std::move(produced);
  }

  Dataset& dataset;
  const Tokenizer* tokenizer;
  DataSettings settings;
  std::string split;
  std::function<bool()> cancelled;
  std::unique_ptr<BatchSource> source;
  LoaderPosition position;
  uint64_t number = 0;       // num_workers 0: of the next batch
  std::exception_ptr error;  // num_workers 0: what ended the source
  std::unique_ptr<OrderedQueue<Produced>> queue;
  std::vector<std::thread> threads;
};

Loader::Loader(Dataset& dataset, Tokenizer* tokenizer, const DataSettings& settings, const std::string& split,
               std::function<bool()> cancelled, LoaderTuning tuning)
    : impl_(std::make_unique<Impl>(dataset, tokenizer, settings, split, std::move(cancelled))) {
  const SplitInfo& info = dataset.split(split);
  SourceParts parts;
  parts.dataset = &dataset;
  parts.split = split;
  parts.micro_batch_size = static_cast<uint64_t>(settings.micro_batch_size);
  parts.block_size = static_cast<uint64_t>(settings.block_size);
  parts.vocab_size = static_cast<uint64_t>(settings.vocab_size);
  parts.drop_last = settings.drop_last;
  parts.order = {static_cast<uint64_t>(std::max<int64_t>(info.num_rows, 0)), settings.shuffle, settings.seed};
  parts.piece_bytes = tuning.piece_bytes;
  parts.cancelled = impl_->cancelled;
  impl_->source = make_source(dataset, tokenizer, settings, std::move(parts));
  impl_->source->seek({});
}

Loader::~Loader() = default;

void Loader::seek(const LoaderPosition& position) {
  impl_->stop_threads();
  impl_->number = 0;
  impl_->error = nullptr;
  impl_->position = position;
  impl_->source->seek(position);
}

std::shared_ptr<const Batch> Loader::next() {
  Produced produced = impl_->next();
  impl_->position = std::move(produced.after);
  return std::move(produced.batch);
}

LoaderPosition Loader::position() const { return impl_->position; }

Value Loader::fingerprint() const {
  const DataSettings& settings = impl_->settings;
  Value out = Value::object();
  out["dataset"] = impl_->dataset.name();
  out["content"] = impl_->dataset.fingerprint();
  out["split"] = impl_->split;
  if (impl_->dataset.fields().front().form == STC_FIELD_UTF8) {
    out["tokenizer"] = impl_->tokenizer->name();
    out["tokenizer_keys"] = impl_->tokenizer->keys();
  }
  out["block_size"] = settings.block_size;
  out["shuffle"] = settings.shuffle && impl_->dataset.indexed();
  out["drop_last"] = settings.drop_last;
  out["seed"] = settings.seed;
  return out;
}

}  // namespace stc::host
