/// \file
/// What ends a command or a step: one exception type a subject, rendered as `error: ...`.
#pragma once

#include <stdexcept>
#include <string>

namespace stc::host {

/// A place in a file. Lines and columns count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  bool known() const { return !file.empty(); }
  std::string str() const;  // "run.yaml:12:7"
};

/// Exit codes of the program (docs/reference/exit-codes.md).
enum ExitCode : int {
  kExitDone = 0,
  kExitDiffers = 1,     // a comparison found differences
  kExitError = 2,       // a handled error; nothing was overwritten
  kExitSaveFailed = 4,  // training finished, but its last checkpoint could not be written
  kExitSighup = 129,    // stopped by SIGHUP after finishing the step and saving
  kExitSigint = 130,    // the same by SIGINT
  kExitSigusr1 = 138,   // the same by SIGUSR1
  kExitSigterm = 143,   // the same by SIGTERM
};

/// Base of all handled errors. The message reads `<subject>: <found>, <allowed>`; the hint says what
/// to do next. Lower case, no full stop, values verbatim, secrets redacted.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {}, Location at = {});
  const std::string& hint() const { return hint_; }
  const Location& at() const { return at_; }
  /// "error: <message>\n  at <file>:<line>:<col>\n  hint: <hint>\n".
  std::string render() const;

 private:
  std::string hint_;
  Location at_;
};

class ConfigError : public Error {
  using Error::Error;
};
class PluginError : public Error {
  using Error::Error;
};
class DataError : public Error {
  using Error::Error;
};
class ShapeError : public Error {
  using Error::Error;
};
class CheckpointError : public Error {
  using Error::Error;
};
class TrainError : public Error {
  using Error::Error;
};
/// The run is ending (signal); not a fault.
class Cancelled : public Error {
  using Error::Error;
};

}  // namespace stc::host
