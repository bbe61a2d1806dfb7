/// \file
/// Between the host's events and the fields of the plugin ABI.
#pragma once

#include <string>
#include <vector>

#include "host/events/event.hpp"
#include "stc/abi/host.h"

namespace stc::host {

/// An event that a plugin reports through its services. Lists and objects become null: a record is flat.
Event event_from_fields(const std::string& name, const stc_field* fields, uint64_t count);

/// Borrows the strings of `event`, which must outlive the result.
std::vector<stc_field> fields_of_event(const Event& event);

}  // namespace stc::host
