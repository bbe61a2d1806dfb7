/// \file
/// Text as it is read in text mode: strict UTF-8, every line end a line feed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stc::text {

/// Why bytes are no UTF-8 and where.
struct BadUtf8 {
  size_t offset = 0;  // of the first byte of the wrong sequence
  std::string reason;
};

struct Translated {
  size_t used = 0;     // bytes of the input
  size_t written = 0;  // bytes of the output; never more than used
};

/// Copies whole characters to out until one does not fit, the input ends, or what is left could mean
/// different things depending on what follows (part of a character, a carriage return). CR LF and a lone
/// CR become LF.
///
/// Well-formed is what table 3-7 of the Unicode Standard (15.0) says: no overlong forms, no surrogates,
/// nothing above U+10FFFF.
/// \param last nothing follows the input: all of it is decided.
/// \throws BadUtf8
Translated translate(std::string_view in, bool last, char* out, size_t capacity);

/// Bytes of the character that `in` begins with, by its first byte.
size_t character_bytes(std::string_view in);

}  // namespace stc::text
