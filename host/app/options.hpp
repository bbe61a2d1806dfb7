/// \file
/// The command line: words -> one command with its arguments. No LibTorch, no files read.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "host/app/commands.hpp"
#include "host/errors/error.hpp"

namespace stc::host {

/// A command line that names no such command, option or value.
class UsageError : public Error {
  using Error::Error;
};

/// `plugins list`, answered by the launcher itself.
struct PluginsListArguments {
  std::vector<std::string> plugin_paths;
  std::string format = "text";  // text or json
};

/// Text to print instead of doing anything: help or version.
struct PrintText {
  std::string text;
};

using CommandArguments =
    std::variant<PrintText, RunArguments, ValidateArguments, ExplainArguments, PluginsListArguments, PluginsArguments,
                 PluginsCheckArguments, InspectArguments, GenerateArguments, ReplayArguments, VerifyResumeArguments,
                 BenchArguments, TuneArguments>;

struct CommandLine {
  std::string command;  // "run", "validate", "explain", "plugins list", ..., "help", "version"
  CommandArguments arguments;
};

/// \param words  argv without the program's name.
/// \throws UsageError with the nearest command or option.
CommandLine parse_command_line(const std::vector<std::string>& words);

}  // namespace stc::host
