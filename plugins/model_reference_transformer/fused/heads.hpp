/// \file
/// Sizes of an attention's heads.
#pragma once

#include <cstdint>

namespace stc::reference_transformer {

struct HeadShape {
  int64_t rows = 0;      // B
  int64_t time = 0;      // T
  int64_t kv_heads = 0;  // K
  int64_t group = 0;     // G
  int64_t head_dim = 0;  // D
  int64_t heads() const { return kv_heads * group; }
  int64_t qkv_dim() const { return (heads() + 2 * kv_heads) * head_dim; }
  int64_t model_dim() const { return heads() * head_dim; }
};

}  // namespace stc::reference_transformer
