/// \file
/// Rows of comma-separated values (RFC 4180, with LF line ends).
#pragma once

#include <string>
#include <vector>

#include "stc/plain/sink.hpp"

namespace stc::csv {

/// Quoted where it holds a comma, a quote or a line break; quotes are doubled.
std::string quoted(std::string_view cell);

/// null is empty, true and false, 12, the shortest round-trip float, nan, inf, -inf, text quoted.
std::string cell_of(const Value& value);

/// The header: names joined, with a line break.
std::string header_line(const std::vector<std::string>& columns);

}  // namespace stc::csv
