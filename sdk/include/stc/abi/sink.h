/// \file
/// Kind sink: where events and metrics go. All slots are called from one queue thread.
/// Life: create -> open -> (event | flush)* -> close -> destroy.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_sink stc_sink;

typedef struct stc_run_info {
  uint32_t struct_size;
  uint32_t reserved;
  const char* run_id;
  const char* run_name;
  const char* run_dir;
  const char* config_json; /* the resolved configuration, secrets redacted */
  uint64_t start_step;     /* > 0: resumed; files are continued, not replaced */
} stc_run_info;

typedef struct stc_event {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const stc_field* fields; /* in the order in which they are to be written; elapsed_s is one of them */
  uint64_t num_fields;
  double unix_time_s;
} stc_event;

typedef struct stc_sink_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_sink** out); /* R */
  void (*destroy)(stc_sink* self);                                                      /* R */
  stc_error* (*open)(stc_sink* self, const stc_run_info* run);                          /* R */
  stc_error* (*event)(stc_sink* self, const stc_event* event);                          /* R */
  stc_error* (*flush)(stc_sink* self);                                                  /* R */
  void (*close)(stc_sink* self);                                                        /* R */
} stc_sink_api;

#ifdef __cplusplus
}
#endif
