/// \file
/// Sizes of the reference transformer. No LibTorch here.
#pragma once

#include <cstdint>

namespace stc::reference_transformer {

struct Config {
  int64_t vocab_size = 512;
  int64_t block_size = 128;  // longest sequence
  int64_t n_layer = 4;
  int64_t n_head = 8;
  int64_t n_kv_head = 8;
  int64_t d_model = 256;
  int64_t d_ff = 1024;   // before the 2/3 of SwiGLU, see hidden()
  double dropout = 0.0;  // in [0, 1)
  bool tie_weights = true;
  double rope_base = 10000.0;

  int64_t head_dim() const { return d_model / n_head; }
  int64_t group() const { return n_head / n_kv_head; }  // query heads of one key/value head
  int64_t kv_dim() const { return n_kv_head * head_dim(); }
  int64_t qkv_dim() const { return d_model + 2 * kv_dim(); }
  /// Width of the MLP: floor(d_ff * 2/3), computed in double, rounded up to a multiple of n_head.
  int64_t hidden() const;
  /// Trainable values, a tied matrix counted once.
  int64_t num_parameters() const;
  /// \throws stc::Fault naming the key, the value found and what is allowed.
  void check() const;
};

}  // namespace stc::reference_transformer
