#include "translate.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace stc::text {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kHighs = 0x8080808080808080u;

/// Eight bytes that are all ASCII and no carriage return. (May say no where the answer is yes; the slow
/// way gives the same result.)
bool is_plain(uint64_t word) {
  const uint64_t cr = word ^ (kOnes * '\r');
  return ((word | ((cr - kOnes) & ~cr)) & kHighs) == 0;
}

/// What the first byte says: length, and the range of the second byte.
struct Lead {
  size_t bytes;
  unsigned char low, high;
};

Lead lead_of(unsigned char c) {
  if (c < 0x80) {
    return {1, 0, 0};
  }
  if (c < 0xc2 || c > 0xf4) {
    return {0, 0, 0};
  }
  if (c < 0xe0) {
    return {2, 0x80, 0xbf};
  }
  if (c < 0xf0) {
    return {3, static_cast<unsigned char>(c == 0xe0 ? 0xa0 : 0x80),
            static_cast<unsigned char>(c == 0xed ? 0x9f : 0xbf)};
  }
  return {4, static_cast<unsigned char>(c == 0xf0 ? 0x90 : 0x80), static_cast<unsigned char>(c == 0xf4 ? 0x8f : 0xbf)};
}

bool is_continuation(unsigned char c) { return (c & 0xc0) == 0x80; }

[[noreturn]] void fail(size_t offset, unsigned char byte, const char* why) {
  char text[96];
  std::snprintf(text, sizeof text, "byte 0x%02x: %s", byte, why);
  throw BadUtf8{offset, text};
}

[[noreturn]] void fail_lead(size_t offset, unsigned char c) {
  if (is_continuation(c)) {
    fail(offset, c, "a continuation byte without a first byte");
  }
  fail(offset, c, c < 0xc2 ? "an overlong form" : c < 0xf8 ? "above U+10FFFF" : "never part of UTF-8");
}

[[noreturn]] void fail_second(size_t offset, unsigned char c, unsigned char second) {
  if (!is_continuation(second)) {
    fail(offset, c, "its character is cut short");
  }
  fail(offset, c, c == 0xed ? "a surrogate" : c == 0xf4 ? "above U+10FFFF" : "an overlong form");
}

/// Length of the character at `at`, 0 when its end is not there yet.
size_t checked_character(std::string_view in, size_t at, bool last) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(in[at + i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.bytes == 0) {
    fail_lead(at, byte(0));
  }
  const size_t there = in.size() - at < lead.bytes ? in.size() - at : lead.bytes;
  if (there > 1 && (byte(1) < lead.low || byte(1) > lead.high)) {
    fail_second(at, byte(0), byte(1));
  }
  for (size_t i = 2; i < there; ++i) {
    if (!is_continuation(byte(i))) {
      fail(at, byte(0), "its character is cut short");
    }
  }
  if (there == lead.bytes) {
    return there;
  }
  if (last) {
    fail(at, byte(0), "its character is cut short by the end of the file");
  }
  return 0;
}

}  // namespace

size_t character_bytes(std::string_view in) {
  return in.empty() ? 0 : lead_of(static_cast<unsigned char>(in.front())).bytes;
}

Translated translate(std::string_view in, bool last, char* out, size_t capacity) {
  size_t at = 0, to = 0;
  for (;;) {
    uint64_t word;
    while (in.size() - at >= sizeof word && capacity - to >= sizeof word) {
      std::memcpy(&word, in.data() + at, sizeof word);
      if (!is_plain(word)) {
        break;
      }
      std::memcpy(out + to, &word, sizeof word);
      at += sizeof word;
      to += sizeof word;
    }
    if (at == in.size() || to == capacity) {
      return {at, to};
    }
    if (in[at] == '\r') {
      if (at + 1 == in.size() && !last) {
        return {at, to};
      }
      at += at + 1 < in.size() && in[at + 1] == '\n' ? 2 : 1;
      out[to++] = '\n';
      continue;
    }
    const size_t n = checked_character(in, at, last);
    if (n == 0 || n > capacity - to) {
      return {at, to};
    }
    for (size_t i = 0; i < n; ++i) {
      out[to++] = in[at++];
    }
  }
}

}  // namespace stc::text
