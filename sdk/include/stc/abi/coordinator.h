/// \file
/// Kind coordinator: what happens after each optimizer step when nodes meet. Slots are
/// [train-thread]; the coordinator runs its own lanes and ends them in stop.
/// Life: create -> attach -> state_load? -> start -> after_step* -> stop -> destroy.
#pragma once

#include "stc/abi/model.h"
#include "stc/abi/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_coordinator stc_coordinator;

#define STC_ACTION_RESET_OPTIMIZER 1u
#define STC_ACTION_WEIGHTS_REPLACED 2u

typedef struct stc_node_info {
  uint32_t struct_size;
  uint32_t reserved;
  const char* node_id;
  const char* role; /* "master" or "worker" */
  const char* state_dir;
  uint64_t seed;
} stc_node_info;

typedef struct stc_after_step_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t step;
  uint64_t samples;
  uint64_t tokens;
  double loss; /* NaN when it was not read */
} stc_after_step_info;

typedef struct stc_coordinator_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_coordinator** out); /* R */
  void (*destroy)(stc_coordinator* self);                                                      /* R */
  /// R. parameters with aliases, and buffers: the state_dict. sync is guarded by the host and lives
  /// until destroy.
  stc_error* (*attach)(stc_coordinator* self, const stc_parameter_list* parameters, const stc_tensor_list* buffers,
                       const stc_sync_api* sync_api, stc_sync* sync, const stc_node_info* node);
  stc_error* (*start)(stc_coordinator* self, uint64_t step, uint32_t* actions);                        /* R */
  stc_error* (*after_step)(stc_coordinator* self, const stc_after_step_info* info, uint32_t* actions); /* R */
  stc_error* (*before_checkpoint)(stc_coordinator* self, uint64_t step);                               /* R */
  stc_error* (*state_save)(stc_coordinator* self, const stc_state_writer* writer);                     /* R */
  stc_error* (*state_load)(stc_coordinator* self, const stc_state_reader* reader);                     /* R */
  /// R. Finishes or abandons what is under way within deadline_s.
  stc_error* (*stop)(stc_coordinator* self, double deadline_s);
} stc_coordinator_api;

#ifdef __cplusplus
}
#endif
