/// \file
/// The services that the host gives to plugins. Every function is thread-safe unless it says otherwise.
#pragma once

#include "stc/abi/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STC_LOG_DEBUG 10
#define STC_LOG_INFO 20
#define STC_LOG_WARNING 30
#define STC_LOG_ERROR 40

struct stc_plugin;

/// One field of an event or a metric record. Frozen.
typedef struct stc_field {
  const char* name;
  stc_value value;
} stc_field;

#define STC_DEVICE_CPU 1
#define STC_DEVICE_CUDA 2
#define STC_DEVICE_MPS 3
#define STC_DEVICE_OTHER 99

/// The device of the run and what it can do.
typedef struct stc_device_info {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t type;        /* STC_DEVICE_* */
  int32_t index;       /* -1: not numbered */
  int32_t bf16;        /* 1: hardware bf16 */
  int32_t fp16;        /* 1: hardware fp16 */
  int32_t num_threads; /* of the CPU side */
  int32_t reserved2;
  uint64_t memory_bytes; /* of the device; 0: unknown */
} stc_device_info;

/// Shape and placement of a tensor; sizes and strides are borrowed until the tensor dies.
typedef struct stc_tensor_info {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t dtype;
  int32_t ndim;
  const int64_t* sizes;
  const int64_t* strides; /* in elements */
  void* data;             /* on the tensor's device */
  int32_t device_type;
  int32_t device_index;
  int32_t requires_grad;
  int32_t is_contiguous;
} stc_tensor_info;

/// Callbacks of a differentiable function whose graph node the host builds.
/// forward runs without recording; backward runs on the thread that runs the graph.
typedef struct stc_autograd_function {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  /// Reads num_inputs tensors, writes num_outputs owned tensors; saves what backward needs into
  /// saved (owned by the graph from then on), at most max_saved, and sets num_saved.
  stc_error* (*forward)(void* ctx, const stc_tensor* inputs, uint32_t num_inputs, stc_tensor* outputs,
                        uint32_t num_outputs, stc_tensor* saved, uint32_t max_saved, uint32_t* num_saved);
  /// grad_outputs[i] may be null (zero); grad_inputs[i] may stay null (no gradient).
  stc_error* (*backward)(void* ctx, const stc_tensor* saved, uint32_t num_saved, const stc_tensor* grad_outputs,
                         uint32_t num_outputs, stc_tensor* grad_inputs, uint32_t num_inputs);
  /// Called once when the graph node dies; may be null.
  void (*release)(void* ctx);
} stc_autograd_function;

/// The host's table. ctx identifies the plugin instance; pass it to every call. The table lives
/// until the instance's destroy has returned (the one given to the entry: for the process).
typedef struct stc_host {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;

  /* errors */
  stc_error* (*error_new)(void* ctx, int32_t code, const char* message);
  /// key names the configuration key at fault (without its section); the host adds file and line.
  stc_error* (*error_new_config)(void* ctx, const char* key, const char* message);
  void (*error_free)(void* ctx, stc_error* error);
  int32_t (*error_code)(void* ctx, const stc_error* error);
  const char* (*error_message)(void* ctx, const stc_error* error);

  /* log and events */
  void (*log)(void* ctx, int32_t level, const char* message);
  int32_t (*log_level)(void* ctx);
  /// An event of the plugin's own; name is prefixed by nothing, so choose "<plugin>_<noun>".
  void (*event)(void* ctx, const char* name, const stc_field* fields, uint64_t num_fields);
  /// A scalar that appears in the next train_step record under `name`.
  void (*metric)(void* ctx, const char* name, double value);

  /* configuration */
  /// Value of a key of an object node; NOT_FOUND when absent.
  stc_error* (*config_get)(void* ctx, const stc_config* config, const char* key, stc_value* out);
  /// Number of entries of an object or list node.
  uint64_t (*config_size)(void* ctx, const stc_config* config);
  /// Entry `index`; out_key is null for lists.
  stc_error* (*config_at)(void* ctx, const stc_config* config, uint64_t index, const char** out_key, stc_value* out);

  /* tensors */
  stc_error* (*tensor_info)(void* ctx, stc_tensor tensor, stc_tensor_info* out);
  /// A tensor on the CPU over memory of the caller's; release (may be null) is called when the last
  /// user is gone, on any thread.
  stc_error* (*tensor_from_buffer)(void* ctx, const stc_buffer* buffer, void (*release)(void* arg), void* arg,
                                   stc_tensor* out);
  void (*tensor_delete)(void* ctx, stc_tensor tensor);

  /* operators and autograd (stable level; null in a host without LibTorch) */
  /// Fails unless LibTorch has an operator whose schema equals `schema` in types and order.
  stc_error* (*operator_check)(void* ctx, const char* schema);
  stc_error* (*autograd_apply)(void* ctx, const stc_autograd_function* function, void* function_ctx,
                               const stc_tensor* inputs, uint32_t num_inputs, stc_tensor* outputs,
                               uint32_t num_outputs);

  /* run */
  /// A seed for a named stream of random numbers: a function of run.seed and the name alone.
  uint64_t (*rng_seed)(void* ctx, const char* stream);
  /// 1 when the run is ending; long operations return CANCELLED soon.
  int32_t (*cancelled)(void* ctx);
  /// Begin (phase 1) or end (phase 0) of a named span on this thread, for the trace.
  void (*trace)(void* ctx, const char* name, int32_t phase);
  /// STC_DTYPE_* in which matrix products run (autocast or the model's own rounding).
  int32_t (*compute_dtype)(void* ctx);
  /// Brackets of a model's stages for out-of-order backprop; no effect elsewhere. [train-thread]
  void (*stage_begin)(void* ctx, const char* stage);
  void (*stage_end)(void* ctx, const char* stage);
  /// Folder of this run; lives as long as the host.
  const char* (*run_dir)(void* ctx);
  /// Resolves a path of the configuration (relative to the working directory). The result is
  /// valid until the next call on the same thread.
  const char* (*path_resolve)(void* ctx, const char* path);

  /* memory, threads, device */
  stc_error* (*alloc)(void* ctx, uint64_t bytes, uint64_t alignment, int32_t pinned, void** out);
  void (*free)(void* ctx, void* memory);
  /// Runs fn(arg, begin, end) over [0, n) in chunks of at least grain on the host's threads;
  /// returns when all are done. fn must not throw.
  void (*parallel_for)(void* ctx, int64_t n, int64_t grain, void (*fn)(void* arg, int64_t begin, int64_t end),
                       void* arg);
  stc_error* (*device)(void* ctx, stc_device_info* out);
  /// Native handle of the current stream of the run's device; null on the CPU.
  void* (*stream)(void* ctx);

  /* composition */
  /// Creates another plugin (cautious wraps a base). table is the kind's api struct; the instance
  /// dies by table->destroy. Both stay valid until then.
  stc_error* (*create_inner)(void* ctx, int32_t kind, const char* name, const stc_config* config,
                             const void** out_table, void** out_instance, const struct stc_plugin** out_plugin);
  /// Extensions of the host, "stc.host.<name>/<rev>"; null when unknown.
  const void* (*get_extension)(void* ctx, const char* id);
} stc_host;

#ifdef __cplusplus
}
#endif
