/// \file
/// What the table of each kind must hold, for hosts and for tests of plugins.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "stc/abi.h"

namespace stc::testing {

/// One function of a table.
struct SlotRule {
  const char* name;
  std::size_t offset;
  bool required;
};

struct TableRule {
  const char* kind;
  uint32_t first_size;  // of the table when its kind was first shipped
  std::vector<SlotRule> slots;
};

#define STC_TESTING_R(api, slot) \
  { #slot, offsetof(api, slot), true }
#define STC_TESTING_O(api, slot) \
  { #slot, offsetof(api, slot), false }

/// \param kind STC_KIND_*; an unknown one gives null.
inline const TableRule* table_rule(int32_t kind) {
  static const TableRule kDataset{
      "dataset",
      STC_SIZE_TO_END(stc_dataset_api, state_load),
      {STC_TESTING_R(stc_dataset_api, create), STC_TESTING_R(stc_dataset_api, destroy),
       STC_TESTING_R(stc_dataset_api, describe), STC_TESTING_R(stc_dataset_api, open),
       STC_TESTING_R(stc_dataset_api, close), STC_TESTING_O(stc_dataset_api, get), STC_TESTING_O(stc_dataset_api, next),
       STC_TESTING_O(stc_dataset_api, seek), STC_TESTING_O(stc_dataset_api, state_save),
       STC_TESTING_O(stc_dataset_api, state_load)}};
  static const TableRule kTokenizer{
      "tokenizer",
      STC_SIZE_TO_END(stc_tokenizer_api, special_token),
      {STC_TESTING_R(stc_tokenizer_api, create), STC_TESTING_R(stc_tokenizer_api, destroy),
       STC_TESTING_R(stc_tokenizer_api, encode), STC_TESTING_R(stc_tokenizer_api, decode),
       STC_TESTING_R(stc_tokenizer_api, size), STC_TESTING_O(stc_tokenizer_api, max_token_bytes),
       STC_TESTING_O(stc_tokenizer_api, safe_cut), STC_TESTING_O(stc_tokenizer_api, special_token)}};
  static const TableRule kModel{
      "model",
      STC_SIZE_TO_END(stc_model_api, state_load),
      {STC_TESTING_R(stc_model_api, create), STC_TESTING_R(stc_model_api, destroy), STC_TESTING_O(stc_model_api, init),
       STC_TESTING_R(stc_model_api, parameters), STC_TESTING_O(stc_model_api, buffers),
       STC_TESTING_O(stc_model_api, gradient), STC_TESTING_R(stc_model_api, forward),
       STC_TESTING_O(stc_model_api, loss_and_grad), STC_TESTING_O(stc_model_api, parameters_changed),
       STC_TESTING_O(stc_model_api, set_gradient_checkpointing), STC_TESTING_O(stc_model_api, set_training),
       STC_TESTING_O(stc_model_api, stages), STC_TESTING_O(stc_model_api, dimensions),
       STC_TESTING_O(stc_model_api, generate_begin), STC_TESTING_O(stc_model_api, generate_step),
       STC_TESTING_O(stc_model_api, generate_end), STC_TESTING_O(stc_model_api, state_save),
       STC_TESTING_O(stc_model_api, state_load)}};
  static const TableRule kOptimizer{
      "optimizer",
      STC_SIZE_TO_END(stc_optimizer_api, get_extension),
      {STC_TESTING_R(stc_optimizer_api, create), STC_TESTING_R(stc_optimizer_api, destroy),
       STC_TESTING_R(stc_optimizer_api, bind), STC_TESTING_R(stc_optimizer_api, step),
       STC_TESTING_R(stc_optimizer_api, state_save), STC_TESTING_R(stc_optimizer_api, state_load),
       STC_TESTING_R(stc_optimizer_api, reset), STC_TESTING_O(stc_optimizer_api, set_mode),
       STC_TESTING_O(stc_optimizer_api, set_group), STC_TESTING_O(stc_optimizer_api, get_extension)}};
  static const TableRule kPrecision{
      "precision",
      STC_SIZE_TO_END(stc_precision_api, state_load),
      {STC_TESTING_R(stc_precision_api, create), STC_TESTING_R(stc_precision_api, destroy),
       STC_TESTING_R(stc_precision_api, resolve), STC_TESTING_R(stc_precision_api, scale),
       STC_TESTING_R(stc_precision_api, update), STC_TESTING_O(stc_precision_api, state_save),
       STC_TESTING_O(stc_precision_api, state_load)}};
  static const TableRule kSync{
      "sync",
      STC_SIZE_TO_END(stc_sync_api, compact),
      {STC_TESTING_R(stc_sync_api, create), STC_TESTING_R(stc_sync_api, destroy), STC_TESTING_R(stc_sync_api, identity),
       STC_TESTING_R(stc_sync_api, list), STC_TESTING_R(stc_sync_api, read), STC_TESTING_R(stc_sync_api, commit),
       STC_TESTING_R(stc_sync_api, poll), STC_TESTING_R(stc_sync_api, ensure), STC_TESTING_O(stc_sync_api, limits),
       STC_TESTING_O(stc_sync_api, cancel), STC_TESTING_O(stc_sync_api, compact)}};
  static const TableRule kCoordinator{
      "coordinator",
      STC_SIZE_TO_END(stc_coordinator_api, stop),
      {STC_TESTING_R(stc_coordinator_api, create), STC_TESTING_R(stc_coordinator_api, destroy),
       STC_TESTING_R(stc_coordinator_api, attach), STC_TESTING_R(stc_coordinator_api, start),
       STC_TESTING_R(stc_coordinator_api, after_step), STC_TESTING_R(stc_coordinator_api, before_checkpoint),
       STC_TESTING_R(stc_coordinator_api, state_save), STC_TESTING_R(stc_coordinator_api, state_load),
       STC_TESTING_R(stc_coordinator_api, stop)}};
  static const TableRule kCollective{
      "collective",
      STC_SIZE_TO_END(stc_collective_api, abort),
      {STC_TESTING_R(stc_collective_api, create), STC_TESTING_R(stc_collective_api, destroy),
       STC_TESTING_R(stc_collective_api, init), STC_TESTING_R(stc_collective_api, all_reduce),
       STC_TESTING_R(stc_collective_api, broadcast), STC_TESTING_R(stc_collective_api, barrier),
       STC_TESTING_R(stc_collective_api, gather), STC_TESTING_R(stc_collective_api, wait),
       STC_TESTING_R(stc_collective_api, abort)}};
  static const TableRule kSink{
      "sink",
      STC_SIZE_TO_END(stc_sink_api, close),
      {STC_TESTING_R(stc_sink_api, create), STC_TESTING_R(stc_sink_api, destroy), STC_TESTING_R(stc_sink_api, open),
       STC_TESTING_R(stc_sink_api, event), STC_TESTING_R(stc_sink_api, flush), STC_TESTING_R(stc_sink_api, close)}};
  switch (kind) {
    case STC_KIND_DATASET: return &kDataset;
    case STC_KIND_TOKENIZER: return &kTokenizer;
    case STC_KIND_MODEL: return &kModel;
    case STC_KIND_OPTIMIZER: return &kOptimizer;
    case STC_KIND_PRECISION: return &kPrecision;
    case STC_KIND_SYNC: return &kSync;
    case STC_KIND_COORDINATOR: return &kCoordinator;
    case STC_KIND_COLLECTIVE: return &kCollective;
    case STC_KIND_SINK: return &kSink;
    default: return nullptr;
  }
}

#undef STC_TESTING_R
#undef STC_TESTING_O

/// Whether a table of the kind has this function.
inline bool has_slot(const void* table, const SlotRule& slot) {
  uint32_t size = 0;
  std::memcpy(&size, table, sizeof size);
  void (*function)() = nullptr;
  if (slot.offset + sizeof function > size) {
    return false;
  }
  std::memcpy(&function, static_cast<const char*>(table) + slot.offset, sizeof function);
  return function != nullptr;
}

/// Why a host must refuse this table; empty when it is good.
inline std::string table_problem(int32_t kind, const void* table) {
  const TableRule* rule = table_rule(kind);
  if (rule == nullptr) {
    return "kind " + std::to_string(kind) + " is none of 1 to 9";
  }
  if (table == nullptr) {
    return std::string(rule->kind) + ": table is null";
  }
  uint32_t size = 0;
  std::memcpy(&size, table, sizeof size);
  if (size < rule->first_size || size > STC_MAX_STRUCT_SIZE) {
    return std::string(rule->kind) + ": struct_size " + std::to_string(size) + ", wanted " +
           std::to_string(rule->first_size) + " to " + std::to_string(STC_MAX_STRUCT_SIZE);
  }
  bool get = false, next = false, seek = false, save = false, load = false;
  for (const SlotRule& slot : rule->slots) {
    const bool given = has_slot(table, slot);
    if (slot.required && !given) {
      return std::string(rule->kind) + ": required slot " + slot.name + " is null";
    }
    const std::string name = slot.name;
    get = get || (name == "get" && given);
    next = next || (name == "next" && given);
    seek = seek || (name == "seek" && given);
    save = save || (name == "state_save" && given);
    load = load || (name == "state_load" && given);
  }
  if (kind == STC_KIND_DATASET && !get && !next) {
    return "dataset: slots get and next are both null, one of them is required";
  }
  if (kind == STC_KIND_DATASET && next && !seek) {
    return "dataset: slot seek is null, required with next";
  }
  if (save != load) {
    return std::string(rule->kind) + ": one of state_save and state_load is null";
  }
  return {};
}

}  // namespace stc::testing
