/// \file
/// The order of one pass over indexed data.
#pragma once

#include <array>
#include <cstdint>

namespace stc::host {

/// A permutation of [0, n) chosen by a key, evaluated point by point in constant memory.
///
/// A balanced Feistel network (Luby and Rackoff, 1988) over the smallest even number of bits that
/// holds n, with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002):
/// values outside [0, n) are sent through again, fewer than four times on average. Not for secrets.
/// The order is part of what a checkpoint relies on: it never changes. [any-thread]
class KeyedPermutation {
 public:
  KeyedPermutation(uint64_t n, uint64_t key);
  /// \param i in [0, n).
  uint64_t operator()(uint64_t i) const;

 private:
  static constexpr int kRounds = 8;
  uint64_t n_;
  int half_bits_;
  uint64_t half_mask_;
  std::array<uint64_t, kRounds> keys_;
};

/// Row of a pass's i-th sample: the identity, or the permutation keyed by seed and pass.
class PassOrder {
 public:
  PassOrder(uint64_t num_rows, bool shuffle, uint64_t seed) : num_rows_(num_rows), shuffle_(shuffle), seed_(seed) {}
  uint64_t num_rows() const { return num_rows_; }
  /// Writes the rows of samples [first, first + n) of a pass.
  void rows(uint64_t pass, uint64_t first, uint64_t n, int64_t* out) const;

 private:
  uint64_t num_rows_;
  bool shuffle_;
  uint64_t seed_;
};

}  // namespace stc::host
