#include "host/evaluate/validation_set.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stc::host {
namespace {

constexpr int64_t kIgnored = -100;

DataSettings in_order(DataSettings data) {
  data.num_workers = 0;
  data.shuffle = false;
  data.drop_last = false;
  return data;
}

bool has_text(const Dataset& dataset) {
  const auto& fields = dataset.fields();
  return std::any_of(fields.begin(), fields.end(), [](const FieldInfo& field) { return field.form == STC_FIELD_UTF8; });
}

}  // namespace

ValidationSet::ValidationSet(std::string name, std::unique_ptr<Dataset> dataset, Tokenizer* tokenizer,
                             const DataSettings& data, std::function<bool()> cancelled)
    : name_(std::move(name)),
      dataset_(std::move(dataset)),
      tokenizer_(has_text(*dataset_) ? tokenizer : nullptr),
      loader_(std::make_unique<Loader>(*dataset_, tokenizer, in_order(data), dataset_->splits().front().name,
                                       std::move(cancelled))) {
  loader_->next();  // one that holds no sample is refused here
  rewind();
}

void ValidationSet::rewind() {
  loader_->seek({});
  ended_ = false;
}

std::shared_ptr<const Batch> ValidationSet::next() {
  if (ended_) return nullptr;
  std::shared_ptr<const Batch> batch = loader_->next();
  const LoaderPosition after = loader_->position();
  // Behind the pass's last batch the position is the begin of pass 1, or, when the end was not
  // known yet, still in pass 0; then the next batch is the first one of pass 1.
  const bool of_first_pass = after.pass == 0 || (after.pass == 1 && after.sample == 0);
  ended_ = after.pass > 0;
  return of_first_pass ? batch : nullptr;
}

std::optional<uint64_t> ValidationSet::text_bytes(const Batch& batch) const {
  const BatchField* labels = batch.find("labels");
  if (tokenizer_ == nullptr || labels == nullptr) return std::nullopt;
  const auto* values = static_cast<const int64_t*>(labels->data.get());
  const auto count = static_cast<int64_t>(labels->bytes / sizeof(int64_t));
  const int64_t row = count / batch.rows;
  uint64_t bytes = 0;
  std::vector<int32_t> ids;
  for (int64_t begin = 0; begin < count; begin += row) {  // a row is a piece of text, rows are not joined
    ids.clear();
    for (int64_t i = begin; i < begin + row; ++i) {
      if (values[i] != kIgnored) ids.push_back(static_cast<int32_t>(values[i]));
    }
    bytes += tokenizer_->decode(ids).size();
  }
  return bytes;
}

}  // namespace stc::host
