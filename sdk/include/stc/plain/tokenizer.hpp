/// \file
/// Tokenizers in C++: bytes to ids and back. Members may be called from several threads at once.
///
///   struct Byte {
///     // One of two forms. Plain: append the ids.
///     void encode(std::string_view text, std::vector<int32_t>& ids) const;
///     // Fast: return the number of ids, and write them when all fit (the span may be empty).
///     uint64_t encode(std::string_view text, std::span<int32_t> ids) const;
///     // The same two forms.
///     void decode(std::span<const int32_t> ids, std::string& text) const;
///     uint64_t decode(std::span<const int32_t> ids, std::span<char> text) const;
///     uint64_t size() const;
///     // optional
///     uint64_t max_token_bytes() const;
///     uint64_t safe_cut(std::string_view text) const;      // where a stream may be cut
///     int32_t special_token(std::string_view role) const;  // "bos", "eos", "pad", "unk"; -1: none
///   };
///   STC_TOKENIZER_PLUGIN(Byte, "byte", "1.0.0", "one token a byte")
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stc/abi/tokenizer.h"
#include "stc/plugin.hpp"

namespace stc::detail {

template <class T>
concept EncodesIntoSpan = requires(T& t, std::string_view text, std::span<int32_t> ids) {
  { t.encode(text, ids) } -> std::convertible_to<uint64_t>;
};
template <class T>
concept EncodesIntoVector = requires(T& t, std::string_view text, std::vector<int32_t>& ids) {
  t.encode(text, ids);
};
template <class T>
concept DecodesIntoSpan = requires(T& t, std::span<const int32_t> ids, std::span<char> text) {
  { t.decode(ids, text) } -> std::convertible_to<uint64_t>;
};
template <class T>
concept DecodesIntoString = requires(T& t, std::span<const int32_t> ids, std::string& text) {
  t.decode(ids, text);
};

template <class T>
struct TokenizerSlots : Slots<T, stc_tokenizer> {
  using Base = Slots<T, stc_tokenizer>;
  static_assert(EncodesIntoSpan<T> || EncodesIntoVector<T>,
                "a tokenizer has encode(std::string_view, std::vector<int32_t>&) or "
                "uint64_t encode(std::string_view, std::span<int32_t>)");
  static_assert(DecodesIntoSpan<T> || DecodesIntoString<T>,
                "a tokenizer has decode(std::span<const int32_t>, std::string&) or "
                "uint64_t decode(std::span<const int32_t>, std::span<char>)");
  static_assert(
      requires(T & t) {
        { t.size() } -> std::convertible_to<uint64_t>;
      },
      "a tokenizer has uint64_t size()");

  static stc_error* encode(stc_tokenizer* self, const char* text, uint64_t size, int32_t* ids, uint64_t capacity,
                           uint64_t* count) noexcept {
    return Base::call(self, [&](T& tokenizer) {
      const std::string_view view(text, size);
      if constexpr (EncodesIntoSpan<T>) {
        *count = tokenizer.encode(view, std::span<int32_t>(ids, capacity));
      } else {
        thread_local std::vector<int32_t> made;
        made.clear();
        tokenizer.encode(view, made);
        give(made, ids, capacity, count);
      }
    });
  }
  static stc_error* decode(stc_tokenizer* self, const int32_t* ids, uint64_t count, char* text, uint64_t capacity,
                           uint64_t* size) noexcept {
    return Base::call(self, [&](T& tokenizer) {
      const std::span<const int32_t> view(ids, count);
      if constexpr (DecodesIntoSpan<T>) {
        *size = tokenizer.decode(view, std::span<char>(text, capacity));
      } else {
        thread_local std::string made;
        made.clear();
        tokenizer.decode(view, made);
        give(made, text, capacity, size);
      }
    });
  }
  static uint64_t size(stc_tokenizer* self) noexcept {
    return Base::template call_value<uint64_t>(self, "size", 0, [](T& tokenizer) { return tokenizer.size(); });
  }
  static uint64_t max_token_bytes(stc_tokenizer* self) noexcept {
    return Base::template call_value<uint64_t>(self, "max_token_bytes", 0,
                                               [](T& tokenizer) { return tokenizer.max_token_bytes(); });
  }
  static uint64_t safe_cut(stc_tokenizer* self, const char* text, uint64_t size) noexcept {
    return Base::template call_value<uint64_t>(
        self, "safe_cut", 0, [&](T& tokenizer) { return tokenizer.safe_cut(std::string_view(text, size)); });
  }
  static int32_t special_token(stc_tokenizer* self, const char* role) noexcept {
    return Base::template call_value<int32_t>(
        self, "special_token", -1, [&](T& tokenizer) { return tokenizer.special_token(std::string_view(role)); });
  }

 private:
  template <class Made, class Out>
  static void give(const Made& made, Out* out, uint64_t capacity, uint64_t* count) {
    *count = made.size();
    if (made.size() <= capacity && !made.empty()) {
      std::memcpy(out, made.data(), made.size() * sizeof(Out));
    }
  }
};

template <class T>
const stc_tokenizer_api* tokenizer_table() {
  using S = TokenizerSlots<T>;
  static const stc_tokenizer_api table = [] {
    stc_tokenizer_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_tokenizer_api, special_token);
    api.create = &S::create;
    api.destroy = &S::destroy;
    api.encode = &S::encode;
    api.decode = &S::decode;
    api.size = &S::size;
    if constexpr (requires(T & t) { t.max_token_bytes(); }) {
      api.max_token_bytes = &S::max_token_bytes;
    }
    if constexpr (requires(T & t, std::string_view text) { t.safe_cut(text); }) {
      api.safe_cut = &S::safe_cut;
    }
    if constexpr (requires(T & t, std::string_view role) { t.special_token(role); }) {
      api.special_token = &S::special_token;
    }
    return api;
  }();
  return &table;
}

}  // namespace stc::detail

#define STC_DEFINE_TOKENIZER(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_TOKENIZER, ::stc::detail::tokenizer_table<Type>(), Type, name, version, doc)
#define STC_TOKENIZER_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_TOKENIZER(Type, name, version, doc);      \
  STC_PLUGIN_LIBRARY(plain, Type)
