/// \file
/// The border between the launcher (stc-host, without LibTorch) and the training half
/// (libstc_host.so).
#pragma once

#include "host/app/options.hpp"

extern "C" {

/// Runs one command and answers its exit code; prints errors itself, lets no exception out.
/// \param version       STC_VERSION of the caller; another one is an error.
/// \param command_line  stc::host::CommandLine.
[[gnu::visibility("default")]] int stc_host_main(const char* version, const void* command_line);
}

namespace stc::host {

/// Loads libstc_host.so from beside the program (../lib/stc installed, ../lib built) and runs the
/// command in it. \throws Error when it is missing or cannot be loaded.
int run_in_training_half(const CommandLine& command_line);

/// `plugins check` of the launcher: runs the check in a child process, explains whatever ends it,
/// and returns the exit code.
int check_in_child(const PluginsCheckArguments& arguments);

/// `plugins list`: reads notes, loads nothing.
int plugins_list_command(const PluginsListArguments& arguments);

}  // namespace stc::host
