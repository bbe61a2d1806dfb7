#include "config.hpp"

#include <string>

#include "stc/core/fault.hpp"

namespace stc::reference_transformer {
namespace {

void require_positive(const char* key, int64_t value) {
  if (value <= 0) {
    throw Fault::config(key, "got " + std::to_string(value) + ", expected > 0");
  }
}

}  // namespace

int64_t Config::hidden() const {
  const auto two_thirds = static_cast<int64_t>(static_cast<double>(d_ff) * (2.0 / 3.0));
  return (two_thirds + n_head - 1) / n_head * n_head;
}

int64_t Config::num_parameters() const {
  const int64_t block = 2 * d_model + qkv_dim() * d_model + d_model * d_model + 3 * hidden() * d_model;
  return (tie_weights ? 1 : 2) * vocab_size * d_model + n_layer * block + d_model;
}

void Config::check() const {
  require_positive("vocab_size", vocab_size);
  require_positive("max_seq_len", block_size);
  require_positive("n_layer", n_layer);
  require_positive("n_head", n_head);
  require_positive("n_kv_head", n_kv_head);
  require_positive("d_model", d_model);
  require_positive("d_ff", d_ff);
  if (n_head % n_kv_head != 0) {
    throw Fault::config(
        "n_kv_head", "got " + std::to_string(n_kv_head) + ", expected a divisor of n_head " + std::to_string(n_head));
  }
  if (d_model % n_head != 0) {
    throw Fault::config("d_model",
                        "got " + std::to_string(d_model) + ", expected a multiple of n_head " + std::to_string(n_head));
  }
  if (head_dim() % 2 != 0) {
    throw Fault::config("d_model", "got " + std::to_string(d_model) + " for " + std::to_string(n_head) + " heads of " +
                                       std::to_string(head_dim()) + ", expected an even head size (rotary positions)");
  }
  if (hidden() <= 0) {
    throw Fault::config("d_ff", "got " + std::to_string(d_ff) + ", expected at least 2");
  }
  if (!(dropout >= 0.0 && dropout < 1.0)) {
    throw Fault::config("dropout", "got " + std::to_string(dropout) + ", expected in [0, 1)");
  }
  if (!(rope_base > 0.0)) {
    throw Fault::config("rope_base", "got " + std::to_string(rope_base) + ", expected > 0");
  }
}

}  // namespace stc::reference_transformer
