#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "stc/plain/tokenizer.hpp"

namespace stc::byte_tokenizer {

/// One token a byte of UTF-8: its value modulo vocab_size.
class Byte {
 public:
  struct Params {
    int64_t vocab_size = 512;
    template <class V>
    static void describe(V& v) {
      v("vocab_size", &Params::vocab_size, "ids are bytes modulo this", at_least(1));
    }
  };

  Byte(const Params& params, Host host)
      : host_(host), size_(static_cast<uint32_t>(std::min<int64_t>(params.vocab_size, 256))) {}

  uint64_t encode(std::string_view text, std::span<int32_t> ids) {
    if (ids.size() < text.size()) {
      return text.size();
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    if (size_ == 256) {
      std::copy_n(bytes, text.size(), ids.begin());
    } else {
      encode_folded(bytes, text.size(), ids.data());
    }
    return text.size();
  }

  uint64_t decode(std::span<const int32_t> ids, std::span<char> text) const {
    for (const int32_t id : ids) {
      if (id < 0 || static_cast<uint32_t>(id) >= size_) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT,
                    "token id " + std::to_string(id) + ", expected 0 to " + std::to_string(size_ - 1));
      }
    }
    if (text.size() >= ids.size()) {
      std::transform(ids.begin(), ids.end(), text.begin(), [](int32_t id) { return static_cast<char>(id); });
    }
    return ids.size();
  }

  uint64_t size() const { return size_; }
  uint64_t max_token_bytes() const { return 1; }
  uint64_t safe_cut(std::string_view text) const { return text.size(); }

 private:
  void encode_folded(const unsigned char* bytes, size_t n, int32_t* ids) {
    uint64_t folded = 0;
    for (size_t i = 0; i < n; ++i) {
      folded += bytes[i] >= size_;
      ids[i] = static_cast<int32_t>(bytes[i] % size_);
    }
    const uint64_t seen = seen_.fetch_add(n, std::memory_order_relaxed) + n;
    if (folded > 0 && !warned_.exchange(true, std::memory_order_relaxed)) {
      host_.warning("vocab_size is " + std::to_string(size_) + ": bytes from " + std::to_string(size_) +
                    " on share the ids of others (byte modulo " + std::to_string(size_) + "), " +
                    std::to_string(folded) + " of the first " + std::to_string(seen) +
                    " bytes; 256 keeps all bytes apart");
    }
  }

  Host host_;
  uint32_t size_;
  std::atomic<uint64_t> seen_{0};
  std::atomic<bool> warned_{false};
};

}  // namespace stc::byte_tokenizer

using stc::byte_tokenizer::Byte;
STC_TOKENIZER_PLUGIN(Byte, "byte", "1.0.0", "one token a byte")
