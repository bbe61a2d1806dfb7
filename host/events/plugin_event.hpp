/// \file
/// Events that plugins emit through host->event.
#pragma once

#include <string>

#include "host/events/event.hpp"
#include "stc/abi/host.h"

namespace stc::host {

/// A copy of the fields; lists and objects, which events do not have, become null.
Event event_from_fields(const std::string& name, const stc_field* fields, uint64_t n);

}  // namespace stc::host
