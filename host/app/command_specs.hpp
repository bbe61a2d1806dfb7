/// \file
/// The commands of stc-host with their options, and their help. Private to the command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/program_options.hpp>

namespace stc::host {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr unsigned kHelpWidth = 100;

/// What is needed to parse and explain one command.
struct CommandSpec {
  CommandSpec(std::string n, std::string u, std::string s)
      : name(std::move(n)), usage(std::move(u)), summary(std::move(s)) {}

  std::string name;
  std::string usage;    // after the name
  std::string summary;  // one line
  po::options_description options{"options", kHelpWidth};
  Words hidden;             // options that --help does not list
  bool takes_file = false;  // one positional word
};

/// The commands in the order of --help.
std::vector<CommandSpec> command_specs();

std::string help_of(const CommandSpec& spec);
/// `filter` "plugins": only the commands of that group.
std::string help_of_all(const std::vector<CommandSpec>& specs, const std::string& filter);
std::string version_text();

}  // namespace stc::host
