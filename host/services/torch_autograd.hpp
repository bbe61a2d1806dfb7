/// \file
/// Differentiable functions of plugins: the host builds the graph node, the plugin gives the maths.
#pragma once

#include "stc/abi/host.h"

namespace stc::host {

/// host->autograd_apply. Runs forward without recording; when gradients are wanted, links the outputs
/// to a node that calls backward and, when it dies, release. Without a node release is called before
/// this returns, also after an error. An error of backward ends the backward pass as a PluginError
/// "<function>: backward: <message>".
stc_error* autograd_apply(void* ctx, const stc_autograd_function* function, void* function_ctx,
                          const stc_tensor* inputs, uint32_t num_inputs, stc_tensor* outputs, uint32_t num_outputs);

}  // namespace stc::host
