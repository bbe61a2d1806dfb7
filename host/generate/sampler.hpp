/// \file
/// Drawing tokens from a model, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "host/train/model.hpp"

namespace stc::host {

struct SamplerOptions {
  int64_t max_tokens = 100;
  double temperature = 1.0;  // 0: the most likely token
  int64_t top_k = 0;         // 0: all
  uint64_t seed = 0;
  int64_t block_size = 0;   // the longest prefix the model reads
  uint64_t vocabulary = 0;  // ids from here on are not drawn: the tokenizer has none; 0: no limit
};

/// Extends `ids` by max_tokens tokens and hands each to `on_token`. Uses the model's cache when it has
/// one and the whole text fits a block, else its forward on the last block_size tokens.
/// The same model, ids, options and thread count give the same tokens.
void sample(Model& model, std::vector<int32_t> ids, const SamplerOptions& options,
            const std::function<void(int32_t)>& on_token);

}  // namespace stc::host
