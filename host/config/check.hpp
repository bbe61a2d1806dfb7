/// \file
/// One value against its declaration.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/config/keys.hpp"
#include "host/config/node.hpp"

namespace stc::host {

/// Checks type and range. Numbers keep the type that they were written with (60 or 60.0).
/// \returns the value; nullopt for a null where null means the default.
/// \throws ConfigError at the node: `<path>: got <value>, expected <what>`.
std::optional<Value> check_value(const Param& param, const Node& node, const std::string& path);

/// The same for a key of the host's own, whose form and letter case may say more than its type.
std::optional<Value> check_value(const HostKey& key, const Node& node);

/// The declared default: null where there is none, floats as doubles.
/// \throws ConfigError when the default breaks its own declaration.
Value default_value(const Param& param, const std::string& path);

/// As a plugin reads it: integers of float keys become doubles, seeds above int64 wrap.
Value as_declared(const Param& param, Value value);

/// A name that may become a folder: not blank, not . or .., no slash, backslash or control
/// character.
bool is_path_safe(std::string_view name);

[[noreturn]] void fail_value(const Param& param, const Node& node, const std::string& path, const std::string& expected,
                             std::string hint = {});

}  // namespace stc::host
