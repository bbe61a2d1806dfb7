/// \file
/// An event as one line of JSON (RFC 8259).
#pragma once

#include <string>

#include "stc/plain/sink.hpp"

namespace stc::jsonl {

/// {"event": name, field: value, ...} and a line break. Strict: NaN and infinities are null, and a last member
/// "nonfinite" lists the fields they were in; bytes that are no UTF-8 become U+FFFD; of fields with equal names the
/// first counts. Floats are the shortest text that reads back as the same double, with a point or an exponent.
std::string json_line(const EventView& event);

/// A JSON string with its quotes, appended to `out`.
void append_string(std::string& out, std::string_view text);

}  // namespace stc::jsonl
