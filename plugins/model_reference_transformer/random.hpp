/// \file
/// Keyed random numbers: every value is a function of its key and index, so that recomputation,
/// resume, another path or another number of threads draw the same.
///
/// The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): output n of the sequence with seed s is mix64(s + (n + 1) * kGamma).
#pragma once

#include <cstdint>
#include <string_view>

namespace stc::reference_transformer {

inline constexpr uint64_t kGamma = 0x9E3779B97F4A7C15ULL;

inline constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Output `index` of the sequence with seed `stream`.
inline constexpr uint64_t random64(uint64_t stream, uint64_t index) { return mix64(stream + (index + 1) * kGamma); }

/// Seed of the stream `name` of `seed`: FNV-1a over the name, mixed with the seed.
inline constexpr uint64_t stream_seed(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix64(mix64(seed) ^ hash);
}

/// One dropout mask: element e is kept, and multiplied by `scale`, when the high half of
/// random64(stream, e) is at least `threshold`.
struct Dropout {
  uint64_t stream = 0;
  uint32_t threshold = 0;  // probability of a drop times 2^32; 0: no dropout
  float scale = 1.0F;

  bool active() const { return threshold != 0; }
  float factor(uint64_t element) const {
    return static_cast<uint32_t>(random64(stream, element) >> 32) >= threshold ? scale : 0.0F;
  }
};

/// The mask of `site` under the pass's key. \param p probability of a drop, in [0, 1).
inline Dropout make_dropout(uint64_t key, uint64_t site, double p) {
  Dropout out;
  if (p <= 0.0) return out;
  out.stream = random64(mix64(key), site);
  const double threshold = p * 4294967296.0;
  out.threshold = threshold < 1.0 ? 1U : threshold >= 4294967295.0 ? 4294967295U : static_cast<uint32_t>(threshold);
  out.scale = static_cast<float>(1.0 / (1.0 - p));
  return out;
}

}  // namespace stc::reference_transformer
