/// \file
/// XXH3-128 (xxHash specification, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md),
/// written as 32 lower-case hexadecimal digits in canonical (big-endian) order, as `xxhsum -H2`
/// does. It finds damage, not forgery.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace stc::host {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void update(const void* data, uint64_t bytes);
  /// Of everything given so far; more may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string xxh3_128_hex(const void* data, uint64_t bytes);

}  // namespace stc::host
