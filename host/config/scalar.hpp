/// \file
/// What an unquoted word of a run file is: YAML 1.1 as Speedtronic 2.0.0 reads it, with the number
/// forms of YAML 1.2 added. Independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/config/config.hpp"

namespace stc::host {

enum class PlainKind { kNull, kBool, kInteger, kFloat, kString };

/// Source: YAML 1.1 types null, bool, int, float (yaml.org/type) and YAML 1.2.2 section 10.3.2.
PlainKind classify_plain(std::string_view text);

/// Why a word means different things to different YAML readers (010, 1:30, 0o17), or nullopt.
std::optional<std::string> ambiguity(std::string_view text);

/// \pre classify_plain(text) == kBool
bool parse_bool(std::string_view text);
/// An int64 or, above its range, a uint64. nullopt: outside both.
/// \pre classify_plain(text) == kInteger
std::optional<Value> parse_integer(std::string_view text);
/// nullopt: outside the range of a double. \pre classify_plain(text) is kInteger or kFloat
std::optional<double> parse_double(std::string_view text);

/// Shortest text that reads back as the same double, always with a point: 0.1, 60.0, 1.0e-08, .inf.
/// (An exponent without a point is a string to YAML 1.1 readers.)
std::string format_double(double value);

}  // namespace stc::host
