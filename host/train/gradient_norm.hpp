/// \file
/// The 2-norm over all gradients together, on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace stc::host {

/// Of the defined ones among `gradients`; 0 without any. Error: below 1e-6 of the norm, for any finite values, also
/// where their squares leave the range of fp32; infinite or NaN when one of them is. The bits do not depend on the
/// number of threads. Nothing: they are not all dense fp32 tensors on the CPU. Any thread.
std::optional<double> host_gradient_norm(const std::vector<at::Tensor>& gradients);

}  // namespace stc::host
