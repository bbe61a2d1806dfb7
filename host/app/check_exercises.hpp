/// \file
/// `plugins check`: what is tried on a plugin beyond the gates.
#pragma once

#include <string>

#include "host/app/check_report.hpp"
#include "host/plugins/registry.hpp"
#include "host/services/services.hpp"

namespace stc::host {

/// Creates the plugin with its defaults, destroys it, creates it again, walks through the states of
/// its kind in order, and destroys it. An error that create returns is an answer, not a fault:
/// nothing more can be tried then. \returns what was done, for one line of output. \throws Error
/// when the plugin breaks the contract of its kind.
std::string exercise(const LoadedPlugin& plugin, RunContext& context, CheckReport& report);

}  // namespace stc::host
