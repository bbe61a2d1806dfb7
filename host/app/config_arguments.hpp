/// \file
/// From the command line to a configuration; shared by the commands that read a run file.
#pragma once

#include <string>

#include "host/app/commands.hpp"
#include "host/config/config.hpp"

namespace stc::host {

LoadRequest to_load_request(const ConfigArguments& arguments, Depth depth);

/// "warning: <message>\n  at <place>\n  hint: <hint>\n" for each, on standard error.
void print_warnings(const Config& config);

/// Writes to standard output. \throws Error when it cannot be written (a full disk, a closed pipe).
void print_document(const std::string& text);

}  // namespace stc::host
