/// \file
/// Kind sync: the place where nodes meet. A versioned tree of files with atomic commits.
/// Slots may be called from any thread, two at once. Every wait obeys host->cancelled and cancel.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_sync stc_sync;

#define STC_SYNC_CAN_READ 1u
#define STC_SYNC_CAN_WRITE 2u
#define STC_SYNC_CAN_PROPOSE 4u

typedef struct stc_sync_identity {
  uint32_t struct_size;
  uint32_t rights;   /* STC_SYNC_CAN_* */
  const char* user;  /* null: unknown */
  const char* place; /* for messages; no secret in it */
} stc_sync_identity;

typedef struct stc_sync_entry {
  uint32_t struct_size;
  uint32_t reserved;
  const char* path;
  uint64_t size;
  const char* hash; /* "<algorithm>:<hex>", null: unknown */
} stc_sync_entry;

#define STC_SYNC_PUT 1
#define STC_SYNC_DELETE 2
#define STC_SYNC_AS_PROPOSAL 1u

typedef struct stc_sync_operation {
  uint32_t struct_size;
  int32_t kind;     /* STC_SYNC_PUT or _DELETE */
  const char* path; /* relative, "/"-separated, no ".." */
  const void* data; /* PUT: bytes, or null when file names a local file */
  uint64_t size;
  const char* file;
} stc_sync_operation;

typedef struct stc_sync_limits {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t max_file_bytes; /* 0: none known */
  uint64_t max_operations;
  double min_poll_interval_s;
} stc_sync_limits;

/// Receives a file piece by piece, or a listing entry by entry; an error stops the call.
typedef stc_error* (*stc_sync_chunk_fn)(void* ctx, const void* data, uint64_t size);
typedef stc_error* (*stc_sync_entry_fn)(void* ctx, const stc_sync_entry* entry);

/// Versions are strings of at most 127 bytes; out buffers have room for 128.
typedef struct stc_sync_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_sync** out); /* R */
  void (*destroy)(stc_sync* self);                                                      /* R */
  stc_error* (*identity)(stc_sync* self, stc_sync_identity* out);                       /* R */
  /// R. version null: the newest. A failed read is an error, never an empty listing.
  stc_error* (*list)(stc_sync* self, const char* prefix, const char* version, stc_sync_entry_fn fn, void* ctx);
  /// R. NOT_FOUND only when the place answered that the file does not exist.
  stc_error* (*read)(stc_sync* self, const char* path, const char* version, stc_sync_chunk_fn fn, void* ctx);
  /// R. All operations or none; expected version null: whatever is newest. CONFLICT when another
  /// commit came first.
  stc_error* (*commit)(stc_sync* self, const stc_sync_operation* operations, uint32_t n, uint32_t stride,
                       const char* expected_version, const char* message, uint32_t flags, char out_version[128]);
  /// R. The newest version, cheaply.
  stc_error* (*poll)(stc_sync* self, char out_version[128]);
  /// R. Creates the place if it is missing and create is 1.
  stc_error* (*ensure)(stc_sync* self, int32_t create, int32_t is_private);
  /* optional */
  stc_error* (*limits)(stc_sync* self, stc_sync_limits* out);
  void (*cancel)(stc_sync* self);
  stc_error* (*compact)(stc_sync* self, const char* const* keep, uint32_t n);
} stc_sync_api;

#ifdef __cplusplus
}
#endif
