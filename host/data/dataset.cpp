#include "host/data/dataset.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/errors/error.hpp"
#include "stc/core/dtype.hpp"

namespace stc::host {
namespace {

/// Element i of an array whose elements may be larger or smaller than ours.
template <class T>
T element(const T* array, uint32_t stride, uint32_t i) {
  T out{};
  const auto* at = reinterpret_cast<const char*>(array) + static_cast<size_t>(stride) * i;
  uint32_t size = 0;
  std::memcpy(&size, at, sizeof size);
  std::memcpy(&out, at, std::min<size_t>({size, stride, sizeof out}));
  return out;
}

std::string source_name(const LoadedPlugin& plugin, const Value& section) {
  for (const Param& param : plugin.declaration.params) {
    if (param.type != STC_PARAM_PATH || !section.is_object()) continue;
    const auto it = section.find(param.name);
    if (it != section.end() && it->is_string()) return it->get<std::string>();
  }
  return plugin.declaration.name;
}

}  // namespace

bool FieldInfo::ragged() const { return std::find(sizes.begin(), sizes.end(), -1) != sizes.end(); }

uint64_t FieldInfo::row_bytes() const {
  uint64_t n = dtype_size(dtype);
  for (const int64_t size : sizes) n *= static_cast<uint64_t>(size);
  return n;
}

template <class Function>
void Dataset::call_content(const char* slot, Function&& function) const {
  stc_error* error = nullptr;
  call(slot, [&] { error = function(); });
  if (error == nullptr) return;
  const int code = host()->error_code(host()->ctx, error);
  if (code == STC_ERROR_IO || code == STC_ERROR_INVALID_ARGUMENT || code == STC_ERROR_NOT_FOUND) {
    throw DataError(take_error(error).message);
  }
  check(error, slot);
}

Stream::~Stream() {
  try {
    owner_.call("close", [&] { owner_.api<stc_dataset_api>().close(raw_); });
  } catch (const PluginError&) {  // nothing depends on a closed stream
  }
}

void Stream::get(const int64_t* indices, uint32_t n, stc_row_buffer* buffers) const {
  owner_.call_content("get", [&] { return owner_.api<stc_dataset_api>().get(raw_, indices, n, buffers); });
}

void Stream::next(uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags, uint32_t* num_rows,
                  bool* end) {
  int32_t ended = 0;
  *num_rows = 0;
  owner_.call_content(
      "next", [&] { return owner_.api<stc_dataset_api>().next(raw_, n, buffers, cursors, flags, num_rows, &ended); });
  if (*num_rows > n) {
    throw PluginError("plugin " + owner_.name() + " (dataset): next: returned " + std::to_string(*num_rows) +
                      " rows, asked for at most " + std::to_string(n));
  }
  *end = ended != 0;
}

void Stream::seek(uint64_t cursor) {
  owner_.call_content("seek", [&] { return owner_.api<stc_dataset_api>().seek(raw_, cursor); });
}

Dataset::Dataset(InstanceSpec spec) : Instance(std::move(spec)), source_(source_name(plugin(), values())) {
  call_content("create", [&] { return api<stc_dataset_api>().create(host(), section(), &raw_); });
  try {
    describe();
  } catch (...) {
    destroy();
    throw;
  }
}

Dataset::~Dataset() { destroy(); }

void Dataset::destroy() {
  try {
    call("destroy", [&] { api<stc_dataset_api>().destroy(raw_); });
  } catch (const PluginError&) {  // the instance is gone either way
  }
}

void Dataset::describe() {
  const stc_dataset_info* given = nullptr;
  call_content("describe", [&] { return api<stc_dataset_api>().describe(raw_, &given); });
  if (given == nullptr) refuse("no description");
  const auto info = element(given, sizeof *given, 0);
  for (uint32_t i = 0; i < info.num_splits; ++i) {
    const auto split = element(info.splits, info.split_stride, i);
    if (split.name == nullptr || split.num_rows < -1) refuse("split " + std::to_string(i));
    splits_.push_back({split.name, split.num_rows, split.num_bytes});
  }
  for (uint32_t i = 0; i < info.num_fields; ++i) {
    const auto field = element(info.fields, info.field_stride, i);
    if (field.name == nullptr) refuse("field " + std::to_string(i) + " without a name");
    const std::string name = field.name;
    if (field.form < STC_FIELD_READY || field.form > STC_FIELD_IDS) {
      refuse("field " + name + ": form " + std::to_string(field.form));
    }
    if (dtype_size(field.dtype) == 0) refuse("field " + name + ": dtype " + std::to_string(field.dtype));
    if (field.ndim < 0 || (field.ndim > 0 && field.sizes == nullptr)) refuse("field " + name + ": no sizes");
    fields_.push_back({name, field.form, field.dtype, {field.sizes, field.sizes + field.ndim}});
    for (const int64_t size : fields_.back().sizes) {
      if (size < -1) refuse("field " + name + ": size " + std::to_string(size));
    }
  }
  if (splits_.empty()) refuse("no splits");
  if (fields_.empty()) refuse("no fields");
  fingerprint_ = info.fingerprint == nullptr ? "" : info.fingerprint;
  const auto& table = api<stc_dataset_api>();
  if (!indexed() && table.next == nullptr) refuse("neither rows by index of a known number nor a stream");
  if (table.next != nullptr && table.seek == nullptr) refuse("next without seek");
}

void Dataset::refuse(const std::string& what) const {
  throw PluginError("plugin " + name() + " (dataset): describe: " + what);
}

bool Dataset::indexed() const {
  return api<stc_dataset_api>().get != nullptr &&
         std::all_of(splits_.begin(), splits_.end(), [](const SplitInfo& s) { return s.num_rows >= 0; });
}

const SplitInfo& Dataset::split(const std::string& name) const {
  std::string known;
  for (const SplitInfo& split : splits_) {
    if (split.name == name) return split;
    known += (known.empty() ? "" : ", ") + split.name;
  }
  throw DataError(source_ + ": no split " + name + ", it has " + known);
}

std::unique_ptr<Stream> Dataset::open(const std::string& split, uint32_t shard, uint32_t num_shards) {
  stc_stream* raw = nullptr;
  call_content("open", [&] { return api<stc_dataset_api>().open(raw_, split.c_str(), shard, num_shards, &raw); });
  return std::make_unique<Stream>(*this, raw);
}

}  // namespace stc::host
