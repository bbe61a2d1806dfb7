#include "host/plugins/kinds.hpp"

#include <cstring>

#include "stc/abi/collective.h"
#include "stc/abi/coordinator.h"
#include "stc/abi/dataset.h"
#include "stc/abi/model.h"
#include "stc/abi/optimizer.h"
#include "stc/abi/precision.h"
#include "stc/abi/sink.h"
#include "stc/abi/sync.h"
#include "stc/abi/tokenizer.h"

namespace stc::host {
namespace {

constexpr bool kRequired = true;
constexpr bool kOptional = false;

#define STC_SLOT(api, name, required) \
  { #name, offsetof(api, name), required }

KindTable dataset_table() {
  using T = stc_dataset_api;
  return {STC_KIND_DATASET,
          STC_SIZE_TO_END(T, state_load),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, describe, kRequired),
           STC_SLOT(T, open, kRequired), STC_SLOT(T, close, kRequired), STC_SLOT(T, get, kOptional),
           STC_SLOT(T, next, kOptional), STC_SLOT(T, seek, kOptional), STC_SLOT(T, state_save, kOptional),
           STC_SLOT(T, state_load, kOptional)},
          {{nullptr, "get", "next"}, {"next", "seek", nullptr}}};
}

KindTable tokenizer_table() {
  using T = stc_tokenizer_api;
  return {STC_KIND_TOKENIZER,
          STC_SIZE_TO_END(T, special_token),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, encode, kRequired),
           STC_SLOT(T, decode, kRequired), STC_SLOT(T, size, kRequired), STC_SLOT(T, max_token_bytes, kOptional),
           STC_SLOT(T, safe_cut, kOptional), STC_SLOT(T, special_token, kOptional)},
          {}};
}

KindTable model_table() {
  using T = stc_model_api;
  return {
      STC_KIND_MODEL,
      STC_SIZE_TO_END(T, state_load),
      sizeof(T),
      {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, init, kOptional),
       STC_SLOT(T, parameters, kRequired), STC_SLOT(T, buffers, kOptional), STC_SLOT(T, gradient, kOptional),
       STC_SLOT(T, forward, kRequired), STC_SLOT(T, loss_and_grad, kOptional),
       STC_SLOT(T, parameters_changed, kOptional), STC_SLOT(T, set_gradient_checkpointing, kOptional),
       STC_SLOT(T, set_training, kOptional), STC_SLOT(T, stages, kOptional), STC_SLOT(T, dimensions, kOptional),
       STC_SLOT(T, generate_begin, kOptional), STC_SLOT(T, generate_step, kOptional),
       STC_SLOT(T, generate_end, kOptional), STC_SLOT(T, state_save, kOptional), STC_SLOT(T, state_load, kOptional)},
      {{"generate_begin", "generate_step", nullptr}, {"generate_begin", "generate_end", nullptr}}};
}

KindTable optimizer_table() {
  using T = stc_optimizer_api;
  return {STC_KIND_OPTIMIZER,
          STC_SIZE_TO_END(T, get_extension),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, bind, kRequired),
           STC_SLOT(T, step, kRequired), STC_SLOT(T, state_save, kRequired), STC_SLOT(T, state_load, kRequired),
           STC_SLOT(T, reset, kRequired), STC_SLOT(T, set_mode, kOptional), STC_SLOT(T, set_group, kOptional),
           STC_SLOT(T, get_extension, kOptional)},
          {}};
}

KindTable precision_table() {
  using T = stc_precision_api;
  return {STC_KIND_PRECISION,
          STC_SIZE_TO_END(T, state_load),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, resolve, kRequired),
           STC_SLOT(T, scale, kRequired), STC_SLOT(T, update, kRequired), STC_SLOT(T, state_save, kOptional),
           STC_SLOT(T, state_load, kOptional)},
          {}};
}

KindTable sync_table() {
  using T = stc_sync_api;
  return {STC_KIND_SYNC,
          STC_SIZE_TO_END(T, compact),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, identity, kRequired),
           STC_SLOT(T, list, kRequired), STC_SLOT(T, read, kRequired), STC_SLOT(T, commit, kRequired),
           STC_SLOT(T, poll, kRequired), STC_SLOT(T, ensure, kRequired), STC_SLOT(T, limits, kOptional),
           STC_SLOT(T, cancel, kOptional), STC_SLOT(T, compact, kOptional)},
          {}};
}

KindTable coordinator_table() {
  using T = stc_coordinator_api;
  return {STC_KIND_COORDINATOR,
          STC_SIZE_TO_END(T, stop),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, attach, kRequired),
           STC_SLOT(T, start, kRequired), STC_SLOT(T, after_step, kRequired), STC_SLOT(T, before_checkpoint, kRequired),
           STC_SLOT(T, state_save, kRequired), STC_SLOT(T, state_load, kRequired), STC_SLOT(T, stop, kRequired)},
          {}};
}

KindTable collective_table() {
  using T = stc_collective_api;
  return {STC_KIND_COLLECTIVE,
          STC_SIZE_TO_END(T, abort),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, init, kRequired),
           STC_SLOT(T, all_reduce, kRequired), STC_SLOT(T, broadcast, kRequired), STC_SLOT(T, barrier, kRequired),
           STC_SLOT(T, gather, kRequired), STC_SLOT(T, wait, kRequired), STC_SLOT(T, abort, kRequired)},
          {}};
}

KindTable sink_table() {
  using T = stc_sink_api;
  return {STC_KIND_SINK,
          STC_SIZE_TO_END(T, close),
          sizeof(T),
          {STC_SLOT(T, create, kRequired), STC_SLOT(T, destroy, kRequired), STC_SLOT(T, open, kRequired),
           STC_SLOT(T, event, kRequired), STC_SLOT(T, flush, kRequired), STC_SLOT(T, close, kRequired)},
          {}};
}

#undef STC_SLOT

template <class Api>
constexpr bool kStartsLikeAnInstance = offsetof(Api, create) == offsetof(InstanceSlots, create) &&
                                       offsetof(Api, destroy) == offsetof(InstanceSlots, destroy);
static_assert(kStartsLikeAnInstance<stc_dataset_api> && kStartsLikeAnInstance<stc_tokenizer_api> &&
              kStartsLikeAnInstance<stc_model_api> && kStartsLikeAnInstance<stc_optimizer_api> &&
              kStartsLikeAnInstance<stc_precision_api> && kStartsLikeAnInstance<stc_sync_api> &&
              kStartsLikeAnInstance<stc_coordinator_api> && kStartsLikeAnInstance<stc_collective_api> &&
              kStartsLikeAnInstance<stc_sink_api>);

struct KindName {
  int kind;
  const char* name;
};
constexpr KindName kKindNames[] = {
    {STC_KIND_DATASET, "dataset"},     {STC_KIND_TOKENIZER, "tokenizer"},     {STC_KIND_MODEL, "model"},
    {STC_KIND_OPTIMIZER, "optimizer"}, {STC_KIND_PRECISION, "precision"},     {STC_KIND_SYNC, "sync"},
    {STC_KIND_SINK, "sink"},           {STC_KIND_COORDINATOR, "coordinator"}, {STC_KIND_COLLECTIVE, "collective"},
};

}  // namespace

const KindTable* kind_table(int kind) {
  static const auto* tables = new std::vector<KindTable>{dataset_table(),     tokenizer_table(),  model_table(),
                                                         optimizer_table(),   precision_table(),  sync_table(),
                                                         coordinator_table(), collective_table(), sink_table()};
  for (const KindTable& table : *tables) {
    if (table.kind == kind) return &table;
  }
  return nullptr;
}

const void* slot_pointer(const void* table, const Slot& slot) {
  const void* pointer = nullptr;
  std::memcpy(&pointer, static_cast<const char*>(table) + slot.offset, sizeof pointer);
  return pointer;
}

const char* kind_name(int kind) {
  for (const KindName& entry : kKindNames) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

int kind_from_name(const std::string& word) {
  for (const KindName& entry : kKindNames) {
    if (word == entry.name) return entry.kind;
  }
  return 0;
}

const char* level_name(int level) {
  switch (level) {
    case STC_LEVEL_PLAIN: return "plain";
    case STC_LEVEL_STABLE: return "stable";
    case STC_LEVEL_EXACT: return "exact";
    default: return "unknown";
  }
}

}  // namespace stc::host
