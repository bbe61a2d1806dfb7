/// \file
/// Types shared by every plugin kind: errors, values, configuration, buffers, tensors, declarations.
///
/// C11 and C++17. Rules of growth (binding from ABI 1.0 on): every struct starts with struct_size and
/// reserved; members are only appended; a reader zeroes a local struct and copies
/// min(theirs, ours) bytes, so an absent slot reads as null. Structs marked "frozen" below have no
/// size field and never change within a major version. Enumerations are int32 constants.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The exported symbol carries the frozen major; the note says 0.N until the freeze.
#define STC_ABI_MAJOR 0
#define STC_ABI_MINOR 1
/// No struct of any minor version is larger than this; a larger struct_size is a corrupt table.
#define STC_MAX_STRUCT_SIZE 65536u
/// Size of a struct up to and including its last field, without the tail padding.
#define STC_SIZE_TO_END(type, last) ((uint32_t)(offsetof(type, last) + sizeof(((type*)0)->last)))

/* ---- errors ------------------------------------------------------------------------------- */

/// Always allocated by the host (host->error_new) and freed by the host. Null means success.
typedef struct stc_error stc_error;

#define STC_ERROR_INVALID_ARGUMENT 1
#define STC_ERROR_INVALID_CONFIG 2
#define STC_ERROR_NOT_FOUND 3
#define STC_ERROR_CONFLICT 4
#define STC_ERROR_UNSUPPORTED 5
#define STC_ERROR_OUT_OF_MEMORY 6
#define STC_ERROR_TORCH 7
#define STC_ERROR_IO 8
#define STC_ERROR_TIMEOUT 9
#define STC_ERROR_CANCELLED 10
#define STC_ERROR_STATE 11
#define STC_ERROR_INTERNAL 12

/* ---- kinds, levels, dtypes ----------------------------------------------------------------- */

#define STC_KIND_DATASET 1
#define STC_KIND_TOKENIZER 2
#define STC_KIND_MODEL 3
#define STC_KIND_OPTIMIZER 4
#define STC_KIND_PRECISION 5
#define STC_KIND_SYNC 6
#define STC_KIND_COORDINATOR 7
#define STC_KIND_COLLECTIVE 8
#define STC_KIND_SINK 9

/// plain: nothing of LibTorch. stable: LibTorch through its C shims. exact: LibTorch's C++ API.
#define STC_LEVEL_PLAIN 1
#define STC_LEVEL_STABLE 2
#define STC_LEVEL_EXACT 3

/// Codes of stc's own, mapped to LibTorch's by a switch; frozen.
#define STC_DTYPE_UINT8 1
#define STC_DTYPE_INT8 2
#define STC_DTYPE_INT16 3
#define STC_DTYPE_INT32 4
#define STC_DTYPE_INT64 5
#define STC_DTYPE_FLOAT16 6
#define STC_DTYPE_BFLOAT16 7
#define STC_DTYPE_FLOAT32 8
#define STC_DTYPE_FLOAT64 9
#define STC_DTYPE_BOOL 10
#define STC_DTYPE_UINT16 11
#define STC_DTYPE_UINT32 12

/* ---- values --------------------------------------------------------------------------------- */

#define STC_VALUE_NULL 0
#define STC_VALUE_BOOL 1   /* payload[0]: 0 or 1 */
#define STC_VALUE_INT 2    /* payload[0]: int64 bits */
#define STC_VALUE_FLOAT 3  /* payload[0]: bits of an IEEE double */
#define STC_VALUE_STRING 4 /* payload[0]: const char* (UTF-8, also NUL-terminated), payload[1]: bytes */
#define STC_VALUE_LIST 5   /* payload[0]: const stc_config* */
#define STC_VALUE_OBJECT 6 /* payload[0]: const stc_config* */

/// Frozen for all of major 1: 24 bytes. Borrowed: pointers live as long as their source.
typedef struct stc_value {
  int32_t kind;
  int32_t reserved;
  uint64_t payload[2];
} stc_value;

/// A node of the checked configuration: an object or a list, read with host->config_*.
/// A plugin's create receives the section that selected it, filled with declared defaults.
typedef struct stc_config stc_config;

/* ---- memory and tensors ---------------------------------------------------------------------- */

/// A dense, row-major host array. Frozen. The memory belongs to whoever the slot says.
typedef struct stc_buffer {
  void* data;
  uint64_t bytes;
  int32_t dtype;
  int32_t ndim;
  const int64_t* sizes;
} stc_buffer;

/// LibTorch's own AtenTensorHandle (a heap at::Tensor). Inputs are borrowed for the call; outputs
/// are owned by the caller and die by host->tensor_delete or aoti_torch_delete_tensor_object.
struct AtenTensorOpaque;
typedef struct AtenTensorOpaque* stc_tensor;

/// Frozen.
typedef struct stc_named_tensor {
  const char* name;
  stc_tensor tensor;
} stc_named_tensor;

/// Frozen. A borrowed array of named tensors.
typedef struct stc_tensor_list {
  const stc_named_tensor* items;
  uint64_t count;
} stc_tensor_list;

/* ---- parameter declarations ------------------------------------------------------------------- */

#define STC_PARAM_INT 1
#define STC_PARAM_FLOAT 2
#define STC_PARAM_BOOL 3
#define STC_PARAM_STRING 4
#define STC_PARAM_ENUM 5
#define STC_PARAM_INT_LIST 6
#define STC_PARAM_FLOAT_LIST 7
#define STC_PARAM_PATH 8
#define STC_PARAM_OBJECT 9
#define STC_PARAM_STRING_LIST 10

#define STC_PARAM_REQUIRED 1u      /* no default: the user must give it */
#define STC_PARAM_NULLABLE 2u      /* null is a value (and the default when default_text is null) */
#define STC_PARAM_MIN_EXCLUSIVE 4u /* value > min rather than >= */
#define STC_PARAM_MAX_EXCLUSIVE 8u /* value < max rather than <= */
#define STC_PARAM_HAS_MIN 16u
#define STC_PARAM_HAS_MAX 32u
#define STC_PARAM_SECRET 64u /* redacted wherever a config is shown; refused by --set */

/// One key that a plugin reads from the section that selects it. The host checks the user's file
/// against it before create, fills the default, and prints it in describe, explain and the docs.
typedef struct stc_param {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;
  int32_t type;
  int32_t reserved;
  const char* default_text; /* YAML text of the default ("0.9", "[0.9, 0.95]"); null: none */
  double min;               /* of the number, or of each element of a list */
  double max;
  const char* const* enum_values; /* null-terminated; STC_PARAM_ENUM only */
  const char* doc;                /* one line */
  const char* since;              /* plugin version that brought it; may be null */
  const char* deprecated;         /* what to use instead; null when not deprecated */
} stc_param;

/* ---- state (checkpoint contents of one plugin) -------------------------------------------------- */

/// Receives a plugin's state. Names are unique within the plugin; tensors are copied before the
/// call returns. Optimizers name tensors "<parameter>/<state>".
typedef struct stc_state_writer {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  stc_error* (*tensor)(void* ctx, const char* name, stc_tensor tensor);
  stc_error* (*buffer)(void* ctx, const char* name, const stc_buffer* buffer);
  stc_error* (*bytes)(void* ctx, const char* name, const void* data, uint64_t size);
} stc_state_writer;

/// Gives a plugin its state back. Everything is borrowed for the duration of state_load.
/// Absent names answer with a null tensor, null data or bytes null; that is not an error here.
typedef struct stc_state_reader {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /// Number of entries and the name of entry i, tensors and bytes together.
  uint64_t (*count)(void* ctx);
  const char* (*name)(void* ctx, uint64_t index);
  stc_error* (*tensor)(void* ctx, const char* name, stc_tensor* out);
  stc_error* (*buffer)(void* ctx, const char* name, stc_buffer* out);
  stc_error* (*bytes)(void* ctx, const char* name, const void** data, uint64_t* size);
} stc_state_reader;

#ifdef __cplusplus
}
#endif
