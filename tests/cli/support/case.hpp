/// \file
/// A text case of tests/cli (README.md there lists the keys).
#pragma once

#include <map>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace stc::test {

struct CliCase {
  std::string description;
  std::map<std::string, std::string> files;
  std::string config;  // text of {config}; empty: none
  std::map<std::string, std::string> environment;
  std::vector<std::vector<std::string>> setup;
  std::vector<std::string> run;
  std::string input;
  double timeout_s = 60;
  std::string signal_when;
  int signal = 0;
  int exit = 0;
  std::vector<std::string> out, err, not_out, not_err;  // substrings; out and err in order
  std::map<std::string, std::vector<std::string>> file_contains;
  std::vector<std::string> files_exist, files_absent;
  std::map<std::string, std::vector<std::string>> folders;
  std::string events_file = "log.jsonl";
  YAML::Node events;  // undefined: not looked at
};

/// \throws std::runtime_error for an unknown key, a missing one or a wrong type, with the file's name.
CliCase read_case(const std::string& path);

/// Replaces {name} by its value; other braces stay.
std::string expand(std::string text, const std::map<std::string, std::string>& values);

}  // namespace stc::test
