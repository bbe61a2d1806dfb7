/// \file
/// Where dropout acts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace stc::reference_transformer {

/// Where dropout acts in a block; the numbers are part of the masks, so they never change. 0 is the
/// embedding; site s of block i is 4*i + s.
enum class DropoutSite : uint64_t { kProbabilities = 1, kAttentionOutput = 2, kBlock = 3, kMlp = 4 };

/// Dropout of one pass.
struct Sites {
  uint64_t key = 0;
  double p = 0.0;  // 0: none
  Dropout embedding() const { return make_dropout(key, 0, p); }
  Dropout at(size_t block, DropoutSite site) const {
    return make_dropout(key, 4 * block + static_cast<uint64_t>(site), p);
  }
};

}  // namespace stc::reference_transformer
