/// \file
/// Bytes as lower-case hexadecimal text, for JSON.
#pragma once

#include <string>
#include <string_view>

namespace stc::host {

/// Two digits a byte.
std::string to_hex(std::string_view bytes);

/// The bytes again. \throws CheckpointError naming \p subject and what is wrong with the text.
std::string from_hex(std::string_view text, const std::string& subject);

}  // namespace stc::host
