/// \file
/// The tokens of synthetic samples.
#pragma once

#include <cstdint>
#include <span>

namespace stc::synthetic {

/// Tokens of several samples: token k of sample i is the k-th 32-bit output, modulo vocab_size, of a
/// MT19937 seeded with the low 32 bits of seed + i (Matsumoto and Nishimura, "Mersenne Twister", 1998,
/// with the initialisation of 2002).
///
/// Shapes: out holds samples.size() rows of `count` tokens, dense.
/// \param vocab_size in [1, 2^28): what Speedtronic 2.0.0 draws beyond that has 64 bits.
void draw_tokens(uint64_t seed, std::span<const int64_t> samples, uint32_t vocab_size, uint64_t count, int64_t* out);

}  // namespace stc::synthetic
