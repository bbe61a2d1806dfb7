/// \file
/// Kind dataset: documents or ready rows, by index or as a stream, into host buffers.
/// The host tokenizes, blocks, packs, shuffles, shards over workers and batches.
/// Life: create -> describe -> open -> (get | next | seek)* -> close -> destroy.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_dataset stc_dataset;
typedef struct stc_stream stc_stream;

#define STC_FIELD_READY 1 /* rows of a fixed shape, stacked as they are */
#define STC_FIELD_UTF8 2  /* ragged text; the host tokenizes and blocks it */
#define STC_FIELD_IDS 3   /* ragged token ids of a document; the host blocks them */

typedef struct stc_field_info {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name; /* "text", "input_ids", "labels", "attention_mask" or any other */
  int32_t form;     /* STC_FIELD_* */
  int32_t dtype;
  int32_t ndim; /* of one row */
  int32_t reserved2;
  const int64_t* sizes; /* ndim entries, -1 where ragged */
} stc_field_info;

typedef struct stc_split_info {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;   /* "train", "validation" */
  int64_t num_rows;   /* -1: unknown (a stream) */
  uint64_t num_bytes; /* of the source; 0: unknown */
} stc_split_info;

typedef struct stc_dataset_info {
  uint32_t struct_size;
  uint32_t reserved;
  const stc_split_info* splits;
  uint32_t num_splits;
  uint32_t split_stride;
  const stc_field_info* fields;
  uint32_t num_fields;
  uint32_t field_stride;
  const char* fingerprint; /* changes when the content does; at most 128 bytes */
} stc_dataset_info;

#define STC_ROW_CONTINUES 1u /* the next row goes on with the same document */

/// Receives the rows of one field. The host allocates.
/// Fixed shape: data holds rows densely. Ragged: row i is data[offsets[i], offsets[i+1]) in
/// elements; offsets has room for n + 1.
typedef struct stc_row_buffer {
  uint32_t struct_size;
  uint32_t reserved;
  void* data;
  uint64_t capacity_bytes;
  uint64_t* offsets;     /* null for fixed shapes */
  uint64_t needed_bytes; /* out: set when the first row does not fit; nothing is consumed then */
} stc_row_buffer;

typedef struct stc_dataset_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_dataset** out); /* R [main-thread] */
  void (*destroy)(stc_dataset* self);                                                      /* R [main-thread] */
  /// R. Opens nothing large; answers stay valid until destroy. [any-thread]
  stc_error* (*describe)(stc_dataset* self, const stc_dataset_info** out);
  /// R. A reader of shard `shard` of `num_shards` of a split. [any-thread]
  stc_error* (*open)(stc_dataset* self, const char* split, uint32_t shard, uint32_t num_shards, stc_stream** out);
  void (*close)(stc_stream* stream); /* R */
  /// Rows by index, 0 <= indices[i] < num_rows of the split (not of the shard). buffers: one per
  /// field in describe's order. Callable on several threads at once. get or next is required.
  stc_error* (*get)(stc_stream* stream, const int64_t* indices, uint32_t n, stc_row_buffer* buffers);
  /// Up to n following rows. cursors[i] restarts at row i; flags[i] holds STC_ROW_*; *end = 1 when
  /// nothing follows the rows returned. Reads block at most about a second before asking
  /// host->cancelled. [one thread at a time]
  stc_error* (*next)(stc_stream* stream, uint32_t n, stc_row_buffer* buffers, uint64_t* cursors, uint32_t* flags,
                     uint32_t* num_rows, int32_t* end);
  /// Next row is the one whose cursor was given by next; 0 is the first row. Required with next.
  stc_error* (*seek)(stc_stream* stream, uint64_t cursor);
  /* optional */
  stc_error* (*state_save)(stc_dataset* self, const stc_state_writer* writer);
  stc_error* (*state_load)(stc_dataset* self, const stc_state_reader* reader);
} stc_dataset_api;

#ifdef __cplusplus
}
#endif
