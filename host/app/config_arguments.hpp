/// \file
/// From the command line to a configuration; shared by the commands that read a run file.
#pragma once

#include "host/app/commands.hpp"
#include "host/config/config.hpp"

namespace stc::host {

LoadRequest to_load_request(const ConfigArguments& arguments, Depth depth);

/// "warning: <message>\n  at <place>\n  hint: <hint>\n" for each, on standard error.
void print_warnings(const Config& config);

}  // namespace stc::host
