/// \file
/// What the host knows about each kind: the size of its first table, its slots, which are required.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stc/abi/plugin.h"

#include "host/plugins/note.hpp"

namespace stc::host {

struct Slot {
  const char* name;
  size_t offset;
  bool required;
};

/// A group of slots of which one must be given, or a slot that another one needs.
struct SlotRule {
  const char* slot;     // when this one is given (null: always) ...
  const char* needs;    // ... this one must be, or
  const char* or_else;  // this one (null: no alternative)
};

struct KindTable {
  int kind;
  uint32_t first_size;  // STC_SIZE_TO_END of the last slot of the first version; frozen from ABI 1.0 on
  uint32_t size;        // sizeof the host's own struct
  std::vector<Slot> slots;
  std::vector<SlotRule> rules;
};

/// nullptr for an unknown kind.
const KindTable* kind_table(int kind);

/// Every table starts with these members, whatever its kind.
struct InstanceSlots {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, void** out);
  void (*destroy)(void* self);
};
inline const InstanceSlots& instance_slots(const void* table) { return *static_cast<const InstanceSlots*>(table); }

/// The slot's pointer in a table copied by the host.
const void* slot_pointer(const void* table, const Slot& slot);

}  // namespace stc::host
