/// \file
/// Kind model. All slots are [train-thread].
/// Life: create -> init -> parameters -> (set_training, forward, loss_and_grad, ...)* -> destroy.
#pragma once

#include "stc/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_model stc_model;

#define STC_ROLE_OTHER 0 /* goes to AdamW */
#define STC_ROLE_LINEAR 1
#define STC_ROLE_EMBEDDING 2
#define STC_ROLE_HEAD 3
#define STC_ROLE_NORM 4
#define STC_ROLE_BIAS 5
#define STC_ROLE_FORCE_MUON 6
#define STC_ROLE_FORCE_ADAMW 7

typedef struct stc_parameter {
  uint32_t struct_size;
  int32_t role;
  const char* name;           /* its state_dict name */
  const char* const* aliases; /* further names of the same (tied) tensor, null-terminated; may be null */
  stc_tensor tensor;          /* borrowed; its storage never moves after this call */
  int32_t trainable;
  int32_t reserved;
} stc_parameter;

typedef struct stc_parameter_list {
  uint32_t struct_size;
  uint32_t stride; /* sizeof(stc_parameter) of the plugin */
  const stc_parameter* items;
  uint64_t count;
} stc_parameter_list;

#define STC_PASS_TRAINING 1u
#define STC_PASS_ACCUMULATE                                                            \
  2u /* gradients add to those of earlier micro-batches of the window; without it they \
        replace what the model's own buffers hold */

typedef struct stc_pass_info {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t step;        /* completed optimizer steps */
  uint32_t micro_batch; /* within the window, from 0 */
  uint32_t rank;
  uint64_t dropout_key; /* masks are a function of (key, site, element): the same on every path */
  double weight;        /* multiplies the gradients only: token weight times loss scale */
} stc_pass_info;

/// Receives named outputs; the tensors pass to the host. Names: "loss" (scalar), "logits" (B,T,V),
/// or an auxiliary scalar that is logged.
typedef struct stc_output_writer {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  stc_error* (*put)(void* ctx, const char* name, stc_tensor tensor);
} stc_output_writer;

/// Told each time the gradients of a set of parameters (indices of `parameters`) are final.
typedef struct stc_gradient_ready {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  void (*ready)(void* ctx, const uint32_t* parameters, uint32_t count);
} stc_gradient_ready;

/// A size that shape validation looks at, e.g. {"transformer.h.0.attn.q_proj.in_features", 512}.
typedef struct stc_dimension {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  int64_t size;
} stc_dimension;

typedef struct stc_cache stc_cache;

typedef struct stc_model_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_model** out); /* R */
  void (*destroy)(stc_model* self);                                                      /* R */
  /// Draws the initial weights from `seed` alone. Null: create did it from host->rng_seed("init").
  stc_error* (*init)(stc_model* self, uint64_t seed);
  /// R. Stable order; the same list at every call. Answers live until destroy.
  stc_error* (*parameters)(stc_model* self, stc_parameter_list* out);
  /// Tensors that are saved but not trained. May be null.
  stc_error* (*buffers)(stc_model* self, stc_tensor_list* out);
  /// The gradient buffer of parameter `index` when the model owns it (borrowed until destroy), else
  /// null in *out: the host uses .grad. May be null.
  stc_error* (*gradient)(stc_model* self, uint64_t index, stc_tensor* out);
  /// R. Inputs by name: input_ids, labels (may be absent), attention_mask (absent where nothing is
  /// padded), or whatever fields the dataset has. Unknown names are ignored. Records autograd unless
  /// gradient mode is off.
  stc_error* (*forward)(stc_model* self, const stc_pass_info* info, const stc_tensor_list* inputs,
                        const stc_output_writer* outputs);
  /// The model's own fused pass: loss out is the plain mean over the micro-batch's valid labels,
  /// unweighted and unscaled; weight multiplies the gradients. UNSUPPORTED (with the reason) hands
  /// the batch back to forward and autograd, with nothing changed. May be null.
  stc_error* (*loss_and_grad)(stc_model* self, const stc_pass_info* info, const stc_tensor_list* inputs,
                              stc_tensor* loss, const stc_output_writer* aux, const stc_gradient_ready* ready);
  /// Called once after each write to the parameters from outside (update, install, resume).
  void (*parameters_changed)(stc_model* self);
  /// UNSUPPORTED: the host warns and goes on.
  stc_error* (*set_gradient_checkpointing)(stc_model* self, int32_t enabled);
  void (*set_training)(stc_model* self, int32_t training);
  /// Names of disjoint stages in forward order. May be null.
  stc_error* (*stages)(stc_model* self, const char* const** names, uint32_t* count);
  stc_error* (*dimensions)(stc_model* self, const stc_dimension** items, uint32_t* count, uint32_t* stride);
  /* generation; null: the host calls forward on the whole prefix */
  stc_error* (*generate_begin)(stc_model* self, int64_t rows, int64_t max_length, stc_cache** out);
  /// ids (B,t) int64 -> logits (B,V) of the last position.
  stc_error* (*generate_step)(stc_model* self, stc_cache* cache, stc_tensor ids, stc_tensor* logits);
  void (*generate_end)(stc_model* self, stc_cache* cache);
  stc_error* (*state_save)(stc_model* self, const stc_state_writer* writer);
  stc_error* (*state_load)(stc_model* self, const stc_state_reader* reader);
} stc_model_api;

/// Extension of a model's plugin (stc_plugin.get_extension): types that it computes with kernels of its own.
/// Under autocast on a processor without units for the type, the host warns that LibTorch's kernels emulate
/// them, unless the model says here that it does not use those.
#define STC_MODEL_OWN_KERNELS "stc.model.own_kernels/1"
typedef struct stc_model_own_kernels {
  uint32_t struct_size;
  uint32_t reserved;
  /// 1: forward under autocast to dtype (STC_DTYPE_*) on device_type (STC_DEVICE_*) uses them. [any thread]
  int32_t (*computes)(int32_t device_type, int32_t dtype);
} stc_model_own_kernels;

#ifdef __cplusplus
}
#endif
