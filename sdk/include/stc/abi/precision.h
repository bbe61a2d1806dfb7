/// \file
/// Kind precision: in which type the forward computes, and the loss scale. [train-thread]
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_precision stc_precision;

typedef struct stc_precision_plan {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t compute_dtype; /* STC_DTYPE_* */
  int32_t autocast;      /* 1: the host runs the forward under autocast */
  int32_t scaler;        /* 1: the host multiplies the loss by scale() and reports overflow */
  int32_t reserved2;
  const char* warning; /* one line for the log, or null */
} stc_precision_plan;

typedef struct stc_precision_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_precision** out); /* R */
  void (*destroy)(stc_precision* self);                                                      /* R */
  /// R. request: the word of the configuration ("bf16"), or "auto".
  stc_error* (*resolve)(stc_precision* self, const stc_device_info* device, const char* request,
                        stc_precision_plan* out);
  double (*scale)(stc_precision* self);                   /* R. > 0; 1 without a scaler */
  void (*update)(stc_precision* self, int32_t found_inf); /* R. after each attempted update */
  /* optional */
  stc_error* (*state_save)(stc_precision* self, const stc_state_writer* writer);
  stc_error* (*state_load)(stc_precision* self, const stc_state_reader* reader);
} stc_precision_api;

#ifdef __cplusplus
}
#endif
