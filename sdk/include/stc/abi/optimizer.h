/// \file
/// Kind optimizer. All slots are [train-thread].
/// Life: create -> bind -> (step | set_group | set_mode | reset | state_*)* -> destroy.
#pragma once

#include "stc/abi/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stc_optimizer stc_optimizer;

typedef struct stc_bound_parameter {
  uint32_t struct_size;
  int32_t role;
  const char* name;
  stc_tensor tensor; /* borrowed until destroy; its storage never moves */
  uint32_t group;    /* index into the groups of bind */
  uint32_t reserved;
} stc_bound_parameter;

/// The rate of a parameter is info.lr * lr_scale of its group.
typedef struct stc_group {
  uint32_t struct_size;
  uint32_t reserved;
  double lr_scale;
  double weight_decay; /* >= 0, decoupled */
} stc_group;

typedef struct stc_step_info {
  uint32_t struct_size;
  uint32_t reserved;
  double lr;                /* > 0, already scheduled */
  uint64_t step;            /* updates made before this one, from 0 */
  double grad_factor;       /* multiplies every gradient first: clipping and unscaling folded in */
  stc_tensor grad_factor_t; /* 0-d fp32 on the device, or null; when given it replaces grad_factor */
  stc_tensor found_inf;     /* 0-d fp32 on the device, or null; when not 0 nothing may change */
} stc_step_info;

/// For set_mode. An optimizer may train at other weights than those to be used (averages): EVAL and SAVE put
/// the latter into the parameters, TRAIN brings back the former, bit for bit. In mode SAVE state_save
/// also writes what a state_load in mode TRAIN needs, with the saved parameters, to go on with the same bits.
#define STC_MODE_TRAIN 1 /* after bind, and whenever step is called */
#define STC_MODE_EVAL 2
#define STC_MODE_SAVE 3

typedef struct stc_optimizer_api {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*create)(const stc_host* host, const stc_config* config, stc_optimizer** out); /* R */
  void (*destroy)(stc_optimizer* self);                                                      /* R */
  /// R. Once. Only trainable parameters are given.
  stc_error* (*bind)(stc_optimizer* self, const stc_bound_parameter* parameters, uint32_t num_parameters,
                     uint32_t parameter_stride, const stc_group* groups, uint32_t num_groups, uint32_t group_stride);
  /// R. Updates every bound parameter that has a gradient, in place.
  /// gradients: in the order of bind, null = none in this window (parameter, state and decay stay
  /// untouched). Nobody reads a gradient after step, so it may be left scaled.
  /// \returns null, or INVALID_ARGUMENT if a gradient is sparse, complex, or unlike its parameter.
  stc_error* (*step)(stc_optimizer* self, const stc_step_info* info, const stc_tensor* gradients, uint32_t n);
  /// R. Tensors "<parameter>/<state>", equal shape or 0-d; by name, never by position.
  stc_error* (*state_save)(stc_optimizer* self, const stc_state_writer* writer);
  stc_error* (*state_load)(stc_optimizer* self, const stc_state_reader* reader);
  /// R. Forgets all state, step counts included.
  void (*reset)(stc_optimizer* self);
  /* optional */
  void (*set_mode)(stc_optimizer* self, int32_t mode);
  stc_error* (*set_group)(stc_optimizer* self, uint32_t index, const stc_group* group);
  /// Instance extension, e.g. STC_OPTIMIZER_CAUTIOUS.
  const void* (*get_extension)(stc_optimizer* self, const char* id);
} stc_optimizer_api;

/// An optimizer that masks in its own pass: p = p - d where d * g > 0, else p (d = p - p').
#define STC_OPTIMIZER_CAUTIOUS "stc.optimizer.cautious/1"
typedef struct stc_optimizer_cautious {
  uint32_t struct_size;
  uint32_t reserved;
  stc_error* (*set_cautious)(stc_optimizer* self, int32_t enabled);
} stc_optimizer_cautious;

/// An optimizer that updates different parameters by different algorithms says which. Asked for after bind.
#define STC_OPTIMIZER_ROUTING "stc.optimizer.routing/1"
typedef struct stc_optimizer_routing {
  uint32_t struct_size;
  uint32_t reserved;
  /// A word such as "muon" for bound parameter `index`; borrowed until destroy, null past the last one.
  const char* (*algorithm)(stc_optimizer* self, uint32_t index);
} stc_optimizer_routing;

#ifdef __cplusplus
}
#endif
