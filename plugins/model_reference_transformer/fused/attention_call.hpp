/// \file
/// What the blocked attention kernels of the fused pass read and write. One task is one (row, key head)
/// with all query heads of that key head.
#pragma once

#include <cstdint>

#include "../random.hpp"
#include "heads.hpp"

namespace stc::reference_transformer {

struct AttentionCall {
  const float* qkv = nullptr;  // (N, (H+2K)*D), not rotated yet
  const float* cos = nullptr;  // (T, D/2)
  const float* sin = nullptr;
  const bool* mask = nullptr;  // (B,T), true where a key may be seen; null: all
  float* stats = nullptr;      // (B*H*T, 2): the shift of the exponents, and 1 over their sum
  HeadShape shape;
  float scale = 1.0F;  // of the scores
  Dropout dropout;     // of the probabilities

  static int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }
  /// Queries that are worked on at a time: short sequences gain from leaving out more of the upper triangle.
  int64_t block() const { return shape.time > 64 ? 64 : 16; }
  /// Floats of scratch that one task needs: K, dK, dV (T,D'); K^T, V^T (D,T'); a block of Q, dO, dQ (.,D')
  /// and of P, dP (.,T'), where ' pads to 16.
  int64_t scratch() const {
    const int64_t d = padded(shape.head_dim);
    const int64_t t = padded(shape.time);
    return 3 * t * d + 2 * shape.head_dim * t + block() * (3 * d + 2 * t);
  }
};

}  // namespace stc::reference_transformer
