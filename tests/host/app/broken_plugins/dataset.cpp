// A dataset of one row of one id that breaks one rule.

#include "stc/abi/dataset.h"

#include "library.hpp"

using stc::broken::breaks;

struct stc_dataset {
  const stc_host* host;
};
struct stc_stream {};

namespace {

constexpr int64_t kRowSizes[] = {1};
constexpr stc_field_info kFields[] = {
    {sizeof(stc_field_info), 0, "input_ids", STC_FIELD_READY, STC_DTYPE_INT64, 1, 0, kRowSizes}};
constexpr stc_split_info kSplits[] = {{sizeof(stc_split_info), 0, "train", 1, 0}};
constexpr stc_dataset_info kInfo{.struct_size = sizeof(stc_dataset_info),
                                 .reserved = 0,
                                 .splits = kSplits,
                                 .num_splits = breaks("no_split") ? 0 : 1,
                                 .split_stride = sizeof(stc_split_info),
                                 .fields = kFields,
                                 .num_fields = breaks("no_field") ? 0 : 1,
                                 .field_stride = sizeof(stc_field_info),
                                 .fingerprint = "one row"};

stc_error* describe(stc_dataset*, const stc_dataset_info** out) {
  *out = breaks("no_description") ? nullptr : &kInfo;
  return nullptr;
}

stc_error* open(stc_dataset*, const char*, uint32_t, uint32_t, stc_stream** out) {
  *out = new stc_stream;
  return nullptr;
}

void close(stc_stream* stream) { delete stream; }

stc_error* get(stc_stream*, const int64_t*, uint32_t n, stc_row_buffer* buffers) {
  for (uint32_t i = 0; i < n; ++i) static_cast<int64_t*>(buffers[0].data)[i] = 0;
  return nullptr;
}

constexpr stc_dataset_api kTable{.struct_size = sizeof(stc_dataset_api),
                                 .reserved = 0,
                                 .create = stc::broken::create,
                                 .destroy = stc::broken::destroy,
                                 .describe = describe,
                                 .open = open,
                                 .close = close,
                                 .get = get,
                                 .next = nullptr,
                                 .seek = nullptr,
                                 .state_save = nullptr,
                                 .state_load = nullptr};

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_DATASET, kTable)
