/// \file
/// The orthogonal polar factor of a batch of matrices, approximately.
#pragma once

#include <cstdint>

#include <stc/stable/tensor.hpp>

namespace stc::muon {

/// X -> 3.4445 X + (-4.7750 A + 2.0315 A A) X with A = X X^T, `steps` times (Jordan and others, "Muon: An
/// optimizer for hidden layers in neural networks", 2024). The singular values of the result lie near 1.
///
/// x (k,R,C) in fp32 or fp64, each matrix of Frobenius norm at most 1. Where R > C the iteration runs on the
/// other side, with A = X^T X: the same numbers as transposing, without the copies. A zero matrix stays zero.
/// Products of a matrix with itself are symmetric: on the CPU only the blocks on and below the diagonal are
/// multiplied.
stable::Tensor newton_schulz(stable::Tensor x, int64_t steps);

}  // namespace stc::muon
