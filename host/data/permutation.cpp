#include "host/data/permutation.hpp"

#include <bit>

namespace stc::host {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that mixes all bits.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr uint64_t kGamma = 0x9E3779B97F4A7C15u;

}  // namespace

KeyedPermutation::KeyedPermutation(uint64_t n, uint64_t key) : n_(n) {
  const int bits = n > 1 ? static_cast<int>(std::bit_width(n - 1)) : 1;
  half_bits_ = (bits + 1) / 2;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  uint64_t state = mix(key + kGamma);
  for (uint64_t& round_key : keys_) round_key = mix(state += kGamma);
}

uint64_t KeyedPermutation::operator()(uint64_t i) const {
  if (n_ < 2) return i;
  do {
    uint64_t left = i >> half_bits_;
    uint64_t right = i & half_mask_;
    for (const uint64_t key : keys_) {
      const uint64_t next = left ^ (mix(right + key) & half_mask_);
      left = right;
      right = next;
    }
    i = left << half_bits_ | right;
  } while (i >= n_);
  return i;
}

void PassOrder::rows(uint64_t pass, uint64_t first, uint64_t n, int64_t* out) const {
  if (!shuffle_) {
    for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(first + i);
    return;
  }
  const KeyedPermutation order(num_rows_, mix(seed_ + kGamma) + pass);
  for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(order(first + i));
}

}  // namespace stc::host
