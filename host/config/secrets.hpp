/// \file
/// What an error may show of the places where secrets are written, before any declaration has been
/// looked at: a slip of the pen (`token:hf_...` without the space) must not print the secret.
#pragma once

#include <string>
#include <string_view>

#include "host/config/node.hpp"

namespace stc::host {

/// Whether the value at a dotted path is, holds or may be mistaken for a secret: sections
/// distributed, hub and diloco except for their keys that are no secret; keys of sinks; any key that
/// has the name of a secret.
bool may_hold_secret(std::string_view path);

/// show(node), or "<redacted>" where the path may hold a secret.
std::string show_at(std::string_view path, const Node& node);

/// The name of an unknown key as a message may show it. In the sections above, what follows the word
/// (`token:hf_...`) is hidden, and so is a word alone that resembles none of their keys.
std::string shown_key(std::string_view section, std::string_view key, bool has_value);

}  // namespace stc::host
