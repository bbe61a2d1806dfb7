#include "tokens.hpp"

#include <algorithm>

namespace stc::synthetic {
namespace {

constexpr uint64_t kWords = 624;
constexpr uint64_t kShift = 397;

/// Generators that run side by side: seeding is one long chain of multiplications, so several at once
/// cost little more than one.
template <int Lanes>
class Generators {
 public:
  /// Prepares what the first `count` outputs depend on.
  Generators(const uint32_t (&seeds)[Lanes], uint64_t count) {
    std::copy_n(seeds, Lanes, state_[0]);
    const uint64_t used = std::min(kWords, count + kShift);
    for (uint32_t i = 1; i < used; ++i) {
      for (int lane = 0; lane < Lanes; ++lane) {
        const uint32_t before = state_[i - 1][lane];
        state_[i][lane] = 1812433253u * (before ^ (before >> 30)) + i;
      }
    }
  }

  /// The next output of every lane.
  void draw(uint32_t (&out)[Lanes]) {
    const uint64_t k = next_, after = k + 1 == kWords ? 0 : k + 1;
    const uint64_t far = k + kShift < kWords ? k + kShift : k + kShift - kWords;
    next_ = after;
    for (int lane = 0; lane < Lanes; ++lane) {
      const uint32_t joined = (state_[k][lane] & 0x80000000u) | (state_[after][lane] & 0x7fffffffu);
      uint32_t y = state_[far][lane] ^ (joined >> 1) ^ ((0u - (joined & 1u)) & 0x9908b0dfu);
      state_[k][lane] = y;
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680u;
      y ^= (y << 15) & 0xefc60000u;
      out[lane] = y ^ (y >> 18);
    }
  }

 private:
  alignas(64) uint32_t state_[kWords][Lanes];
  uint64_t next_ = 0;
};

template <int Lanes>
void draw_lanes(uint64_t seed, const int64_t* samples, uint32_t vocab_size, uint64_t count, int64_t* out) {
  uint32_t seeds[Lanes];
  for (int lane = 0; lane < Lanes; ++lane) {
    seeds[lane] = static_cast<uint32_t>(seed + static_cast<uint64_t>(samples[lane]));
  }
  Generators<Lanes> generators(seeds, count);
  for (uint64_t k = 0; k < count; ++k) {
    uint32_t drawn[Lanes];
    generators.draw(drawn);
    for (uint64_t lane = 0; lane < Lanes; ++lane) {
      out[lane * count + k] = drawn[lane] % vocab_size;
    }
  }
}

}  // namespace

void draw_tokens(uint64_t seed, std::span<const int64_t> samples, uint32_t vocab_size, uint64_t count, int64_t* out) {
  const int64_t* sample = samples.data();
  size_t left = samples.size();
  const auto advance = [&](size_t n) {
    sample += n;
    out += n * count;
    left -= n;
  };
  for (; left >= 8; advance(8)) {
    draw_lanes<8>(seed, sample, vocab_size, count, out);
  }
  for (; left >= 4; advance(4)) {
    draw_lanes<4>(seed, sample, vocab_size, count, out);
  }
  for (; left > 0; advance(1)) {
    draw_lanes<1>(seed, sample, vocab_size, count, out);
  }
}

}  // namespace stc::synthetic
