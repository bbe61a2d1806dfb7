/// \file
/// What the child of `plugins check` tells its parent over a pipe: one line a message, '\n' inside
/// a text escaped. The parent knows from the last line what the child was doing when it ended.
#pragma once

#include <string>

namespace stc::host {

class CheckReport {
 public:
  /// \param fd  the pipe; owned from now on. -1: nobody listens.
  explicit CheckReport(int fd) : fd_(fd) {}
  ~CheckReport();
  CheckReport(const CheckReport&) = delete;
  CheckReport& operator=(const CheckReport&) = delete;

  /// What comes next: "loading it", "sink csv: create with defaults".
  void begin(const std::string& step);
  /// The one error, rendered; the parent prints it.
  void refuse(const std::string& rendered);
  /// Everything passed.
  void done();
  int fd() const { return fd_; }

 private:
  void send(char kind, const std::string& text);
  int fd_;
};

/// The parent's side: what the lines say together.
struct CheckOutcome {
  std::string last_step;
  std::string error;  // rendered
  bool done = false;
};
/// Reads one line's worth; unknown kinds are skipped.
void take_report_line(const std::string& line, CheckOutcome& outcome);

}  // namespace stc::host
