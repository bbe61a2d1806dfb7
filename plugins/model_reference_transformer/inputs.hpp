/// \file
/// Checks of what a forward receives. Every failure is a stc::Fault that names the sizes or the value.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace stc::reference_transformer {

/// "(4,128)"
std::string shape_text(const at::Tensor& t);

/// ids (B,T) of integers in [0, vocab), as int64 on the device, contiguous. Values are read on the CPU
/// only: elsewhere the loader has checked them, and reading would wait for the device.
at::Tensor checked_ids(const at::Tensor& ids, int64_t vocab, at::Device device);

/// labels of the shape of ids, in [0, vocab) or -100; the result is flat (B*T).
at::Tensor checked_labels(const at::Tensor& labels, const at::Tensor& ids, int64_t vocab, at::Device device);

/// A mask of the shape of ids as booleans, true where a key may be seen; undefined when nothing is
/// masked, which is known on the CPU only.
at::Tensor checked_mask(const at::Tensor& mask, const at::Tensor& ids, at::Device device);

}  // namespace stc::reference_transformer
