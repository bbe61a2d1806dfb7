/// \file
/// Events as text, in the form of Speedtronic 2.0.0: "train_step step=1 loss=1.2 compiled=True".
#pragma once

#include <string>
#include <string_view>

#include "host/events/event.hpp"

namespace stc::host {

/// The text as part of one line of UTF-8: line breaks, control characters and bytes that are no UTF-8
/// become \n, \x1b, \xff.
std::string one_line(std::string_view text);

/// None, True, 12, 0.00123457 (%.6g), text as one_line. Independent of the locale.
std::string to_text(const FieldValue& value);

/// "<name> <key>=<value> ...".
std::string to_text(const Event& event);

/// The shortest text that reads back as the same double, as Python prints it: "5.0", "1e-05", "nan".
std::string shortest_float(double value);

/// "1:02:03", "2:03"; "?" when not finite or negative. Seconds, rounded.
std::string duration_text(double seconds);

}  // namespace stc::host
