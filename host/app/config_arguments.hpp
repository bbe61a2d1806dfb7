/// \file
/// From the command line to a configuration; shared by the commands that read a run file.
#pragma once

#include "host/app/commands.hpp"
#include "host/config/config.hpp"
#include "host/plugins/registry.hpp"

namespace stc::host {

/// The configuration; its warnings and those of the search path are printed as
/// "warning: <message>\n  at <place>\n  hint: <hint>\n" on standard error.
/// \throws as load_config, after the warnings of the search path, which may be the reason.
Config load_and_warn(const ConfigArguments& arguments, Depth depth, Registry& registry);

/// For commands without a run file.
void print_search_faults(Registry& registry);

}  // namespace stc::host
