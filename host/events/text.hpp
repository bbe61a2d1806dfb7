/// \file
/// Events as text, in the form of Speedtronic 2.0.0: "train_step step=1 loss=1.2 compiled=True".
#pragma once

#include <string>

#include "host/events/event.hpp"

namespace stc::host {

/// None, True, 12, 0.00123457 (%.6g), text. Line breaks and control characters of a text are escaped, so
/// that a record stays one line. Independent of the locale.
std::string to_text(const FieldValue& value);

/// "<name> <key>=<value> ...".
std::string to_text(const Event& event);

/// The shortest text that reads back as the same double, as Python prints it: "5.0", "1e-05", "nan".
std::string shortest_float(double value);

/// "1:02:03", "2:03"; "?" when not finite or negative. Seconds, rounded.
std::string duration_text(double seconds);

}  // namespace stc::host
