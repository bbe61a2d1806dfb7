/// \file
/// Kind collective: exchange between the ranks of one node. The host owns data parallelism itself
/// (buckets, overlap, global norm); the plugin moves bytes. [train-thread] unless stated.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_collective stc_collective;
typedef struct stc_work stc_work;

#define STC_REDUCE_SUM 1
#define STC_REDUCE_AVG 2
#define STC_REDUCE_MAX 3

typedef struct stc_rendezvous {
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t rank;
  uint32_t world;
  const char* address;
  uint32_t port;
  uint32_t local_rank;
  double timeout_s;
} stc_rendezvous;

typedef struct stc_collective_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_collective** out); /* R */
  void (*destroy)(stc_collective* self);                                                      /* R */
  stc_error* (*init)(stc_collective* self, const stc_rendezvous* rendezvous);                 /* R */
  /// R. In place; *out is waited for exactly once.
  stc_error* (*all_reduce)(stc_collective* self, stc_tensor tensor, int32_t op, stc_work** out);
  stc_error* (*broadcast)(stc_collective* self, stc_tensor tensor, uint32_t root, stc_work** out); /* R */
  stc_error* (*barrier)(stc_collective* self);                                                     /* R */
  /// R. Each rank's bytes, in rank order, through fn(ctx, rank, data, size).
  stc_error* (*gather)(stc_collective* self, const void* data, uint64_t size,
                       void (*fn)(void* ctx, uint32_t rank, const void* data, uint64_t size), void* ctx);
  stc_error* (*wait)(stc_collective* self, stc_work* work); /* R */
  void (*abort)(stc_collective* self);                      /* R [any-thread] */
} stc_collective_api;

#ifdef __cplusplus
}
#endif
