/// \file
/// Kind tokenizer: bytes to ids and back. Every slot may be called from several threads at once.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_tokenizer stc_tokenizer;

typedef struct stc_tokenizer_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_tokenizer** out); /* R */
  void (*destroy)(stc_tokenizer* self);                                                      /* R */
  /// R. Ids of `size` bytes of UTF-8. *count is set to the number of ids; when capacity is smaller,
  /// nothing is written (size query: capacity 0).
  stc_error* (*encode)(stc_tokenizer* self, const char* text, uint64_t size, int32_t* ids, uint64_t capacity,
                       uint64_t* count);
  /// R. Bytes of ids; the same two-call protocol. The result need not be valid UTF-8.
  stc_error* (*decode)(stc_tokenizer* self, const int32_t* ids, uint64_t count, char* text, uint64_t capacity,
                       uint64_t* size);
  uint64_t (*size)(stc_tokenizer* self); /* R. ids are in [0, size) */
  /* optional */
  /// Largest number of bytes of one token; null: unknown.
  uint64_t (*max_token_bytes)(stc_tokenizer* self);
  /// Length of the longest prefix after which a stream may be cut without changing any id.
  /// Null: documents are collected whole before they are encoded.
  uint64_t (*safe_cut)(stc_tokenizer* self, const char* text, uint64_t size);
  /// Id of "bos", "eos", "pad" or "unk"; -1 when there is none.
  int32_t (*special_token)(stc_tokenizer* self, const char* role);
} stc_tokenizer_api;

#ifdef __cplusplus
}
#endif
