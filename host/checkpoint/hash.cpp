#include "host/checkpoint/hash.hpp"

#include <xxhash.h>

#include <new>

namespace stc::host {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

struct Hasher::State {
  XXH3_state_t* raw = XXH3_createState();
  State() {
    if (raw == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(raw);
  }
  ~State() { XXH3_freeState(raw); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, uint64_t bytes) {
  if (bytes > 0) XXH3_128bits_update(state_->raw, data, bytes);
}

std::string Hasher::hex() const { return to_hex(XXH3_128bits_digest(state_->raw)); }

std::string xxh3_128_hex(const void* data, uint64_t bytes) { return to_hex(XXH3_128bits(data, bytes)); }

}  // namespace stc::host
