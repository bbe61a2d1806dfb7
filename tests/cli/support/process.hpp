/// \file
/// Runs a program with its output captured, a time limit, and a signal at a chosen moment.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stc::test {

struct ProcessRequest {
  std::vector<std::string> argv;  // argv[0] is the path of the program
  std::string directory;
  std::map<std::string, std::string> environment;  // all of it
  std::string input;
  double timeout_s = 60;
  std::string signal_when;  // send `signal` once standard output or error holds this text; empty: never
  int signal = 0;
};

struct ProcessResult {
  int exit = 0;  // exit code, or 128 + the signal that ended it
  bool timed_out = false;
  bool signal_sent = false;
  std::string out;
  std::string err;
};

/// \throws std::runtime_error when the program cannot be started.
ProcessResult run_process(const ProcessRequest& request);

}  // namespace stc::test
