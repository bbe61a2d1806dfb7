// A tokenizer of bytes that breaks one rule.

#include "stc/abi/tokenizer.h"

#include "library.hpp"

using stc::broken::breaks;

struct stc_tokenizer {
  const stc_host* host;
};

namespace {

constexpr int32_t kSize = 256;

int32_t id_of(char byte) {
  if (breaks("id_beyond_size")) return kSize;
  if (breaks("id_below_zero")) return -1;
  return static_cast<unsigned char>(byte);
}

stc_error* encode(stc_tokenizer*, const char* text, uint64_t size, int32_t* ids, uint64_t capacity, uint64_t* count) {
  *count = size;
  if (capacity < size) return nullptr;
  for (uint64_t i = 0; i < size; ++i) ids[i] = id_of(text[i]);
  return nullptr;
}

stc_error* decode(stc_tokenizer*, const int32_t* ids, uint64_t count, char* text, uint64_t capacity, uint64_t* size) {
  *size = count;
  if (capacity < count) return nullptr;
  for (uint64_t i = 0; i < count; ++i) text[i] = static_cast<char>(ids[i]);
  return nullptr;
}

uint64_t size(stc_tokenizer*) { return breaks("size_zero") ? 0 : kSize; }

uint64_t safe_cut(stc_tokenizer*, const char*, uint64_t size) { return breaks("cut_beyond_text") ? size + 1 : size; }

constexpr stc_tokenizer_api kTable{.struct_size = sizeof(stc_tokenizer_api),
                                   .reserved = 0,
                                   .create = stc::broken::create,
                                   .destroy = stc::broken::destroy,
                                   .encode = encode,
                                   .decode = decode,
                                   .size = size,
                                   .max_token_bytes = nullptr,
                                   .safe_cut = safe_cut,
                                   .special_token = nullptr};

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_TOKENIZER, kTable)
