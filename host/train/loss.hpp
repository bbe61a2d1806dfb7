/// \file
/// From a model's outputs to the scalar loss.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/train/model.hpp"

namespace stc::host {

/// The output `loss` (its mean when it is not a scalar), else causal cross-entropy of `logits`
/// (B,T,V) with the batch's `labels`: (B,T) labels are next-token aligned and used in full, (B,T-1)
/// labels use logits[:, :-1]. -100 is ignored; nothing left gives a zero tied to the logits.
/// \throws ShapeError, DataError (a label outside 0..V-1 other than -100; CPU only).
at::Tensor loss_of(const ModelOutputs& outputs, const std::vector<NamedHandle>& inputs, const std::string& model);

/// Mean cross-entropy of logits (B,T,V) against labels (B,T) or (B,T-1), as above.
at::Tensor causal_loss(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace stc::host
