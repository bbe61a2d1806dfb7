/// \file
/// The key of a micro-batch's dropout masks.
#pragma once

#include <cstdint>

namespace stc::host {

/// One round of splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A function of (seed, completed steps, micro-batch) alone, so that resume, retries and every path
/// draw the same masks.
constexpr uint64_t dropout_key(uint64_t seed, uint64_t step, uint64_t micro_batch) {
  return mix64(mix64(mix64(seed) ^ step) ^ micro_batch);
}

}  // namespace stc::host
