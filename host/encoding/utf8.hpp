/// \file
/// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace stc::host {

/// Bytes of the well-formed character that starts at byte \p at, 1 to 4; 0 when there is none.
/// Source: Unicode 15, table 3-7. \pre at < text.size()
size_t utf8_length(std::string_view text, size_t at);

}  // namespace stc::host
