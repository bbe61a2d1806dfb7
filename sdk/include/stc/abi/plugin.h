/// \file
/// What a library exports: one entry function, one set of plugins, and a note readable without loading.
#pragma once

#include "stc/abi/core.h"
#include "stc/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Thread flags of a plugin.
#define STC_PLUGIN_OWN_THREADS 1u /* starts threads; they end in destroy */

/// One plugin of a library. Static storage: lives as long as the library (for the process).
typedef struct stc_plugin {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t kind;
  uint32_t thread_flags;
  const char* name; /* the word in the configuration: [a-z][a-z0-9_]*, at most 47 bytes */
  const char* version;
  const char* doc; /* one line */
  const stc_param* params;
  uint32_t num_params;
  uint32_t param_stride; /* sizeof(stc_param) when the plugin was built */
  const void* table;     /* stc_<kind>_api of the kind */
  /// Extensions of the kind, "stc.<kind>.<name>/<rev>" or reverse DNS; null when unknown. Optional.
  const void* (*get_extension)(const char* id);
} stc_plugin;

typedef struct stc_plugin_set {
  uint32_t struct_size;
  uint32_t reserved;
  const stc_plugin* const* plugins;
  uint32_t num_plugins;
  uint32_t num_schemas;
  /// Operator schemas that the library calls through the dispatcher (stable level), as
  /// "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"; all are compared
  /// with LibTorch's before the first create.
  const char* const* schemas;
} stc_plugin_set;

/// The only exported symbol. Called once per process, on the main thread. \p host lives for the
/// process. Returns null and sets *out, or an error.
#define STC_PLUGIN_ENTRY_NAME "stc_plugin_entry_v1"
typedef stc_error* (*stc_plugin_entry_fn)(const stc_host* host, const stc_plugin_set** out);

/* ---- the note: section ".note.stc", name "STC", found through PT_NOTE ------------------------- */

#define STC_NOTE_NAME "STC"
#define STC_NOTE_TYPE_LIBRARY 1 /* desc: stc_note_library, once per library */
#define STC_NOTE_TYPE_PLUGIN 2  /* desc: stc_note_plugin, once per plugin */
#define STC_NOTE_VERSION 1

/// Frozen. Strings are NUL-terminated and zero-filled.
typedef struct stc_note_library {
  uint32_t note_version;
  uint32_t abi_major;
  uint32_t abi_minor_built;    /* of the header that it was built with */
  uint32_t abi_minor_required; /* lowest host minor that it runs on */
  uint32_t level;              /* STC_LEVEL_* */
  uint32_t cxx11_abi;          /* _GLIBCXX_USE_CXX11_ABI; 0 for C */
  uint64_t torch_target;       /* stable level: lowest LibTorch, major << 56 | minor << 48 */
  char torch_version[32];      /* exact level: the LibTorch it was built with, "2.13.0" */
  char compiler[64];
  char cuda[16];
  char package[64];
  char version[32];
  char licence[32];
  uint8_t reserved[64];
} stc_note_library;

/// Frozen.
typedef struct stc_note_plugin {
  uint32_t kind;
  uint32_t reserved;
  char name[48];
  char version[24];
  char doc[160];
} stc_note_plugin;

/// One ELF note of each type: namesz 4, descsz sizeof(desc), type, "STC\0", desc; 4-byte aligned.
typedef struct stc_elf_note_library {
  uint32_t namesz, descsz, type;
  char name[4];
  stc_note_library desc;
} stc_elf_note_library;

typedef struct stc_elf_note_plugin {
  uint32_t namesz, descsz, type;
  char name[4];
  stc_note_plugin desc;
} stc_elf_note_plugin;

#ifdef __cplusplus
}
#endif
