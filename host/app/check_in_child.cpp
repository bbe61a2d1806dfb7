// `stc-host plugins check FILE`, the parent: a library may crash, abort, exit or hang while it is
// tried.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <vector>

#include "host/app/check_report.hpp"
#include "host/app/spawn_self.hpp"
#include "host/app/temporary_folder.hpp"
#include "host/app/training_half.hpp"
#include "host/plugins/gates.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

/// Longest time without a word from the child; creating a large model may take a while.
constexpr std::chrono::seconds kPatience{60};

[[noreturn]] void fail(const char* what, int number) {
  throw Error(std::string("plugins check: ") + what + ": " + std::generic_category().message(number));
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;  // read end
};

Child start_child(const PluginsCheckArguments& arguments, const std::string& scratch) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe", errno);
  constexpr int kReportFd = 3;
  std::vector<std::string> words = {"plugins", "check", "--report-fd", std::to_string(kReportFd)};
  for (const std::string& path : arguments.plugin_paths) words.insert(words.end(), {"--plugin-path", path});
  words.push_back("--scratch=" + scratch);
  words.push_back("--file=" + arguments.target);
  Child child{-1, ends[0]};
  const int error = spawn_self(std::move(words), {{ends[1], kReportFd}}, child.pid);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    fail("cannot start a process", error);
  }
  return child;
}

/// Reads reports until the child closes the pipe. \returns false when it stayed silent for too
/// long.
bool listen(const Child& child, CheckOutcome& outcome) {
  std::string buffer;
  char piece[4096];
  for (;;) {
    pollfd query{child.pipe, POLLIN, 0};
    const int ready = ::poll(&query, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = ::read(child.pipe, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    buffer.append(piece, static_cast<size_t>(n));
    for (size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
      take_report_line(buffer.substr(0, end), outcome);
      buffer.erase(0, end + 1);
    }
  }
}

/// Waits for the end; a child that lives on after its pipe is closed (or after silence) is killed.
int wait_for(const Child& child, bool answered) {
  int status = 0;
  if (!answered) ::kill(child.pid, SIGKILL);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const pid_t ended = ::waitpid(child.pid, &status, WNOHANG);
    if (ended == child.pid) return status;
    if (ended < 0 && errno != EINTR) fail("waitpid", errno);
    if (std::chrono::steady_clock::now() > deadline) ::kill(child.pid, SIGKILL);
    ::usleep(2000);
  }
}

std::string how_it_ended(int status, bool answered) {
  if (!answered) return "did not answer within " + std::to_string(kPatience.count()) + " s";
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return std::string("ended the process by SIG") + (name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  return "ended the process with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

int check_in_child(const PluginsCheckArguments& arguments) {
  std::cout.flush();
  // What plugins write by default while they are tried.
  const TemporaryFolder scratch("plugins check", "stc-check");
  const Child child = start_child(arguments, scratch.path());
  CheckOutcome outcome;
  const bool answered = listen(child, outcome);
  ::close(child.pipe);
  const int status = wait_for(child, answered);
  if (!outcome.error.empty()) {
    std::cerr << outcome.error;
    return kExitError;
  }
  if (outcome.done && WIFEXITED(status) && WEXITSTATUS(status) == kExitDone) return kExitDone;
  // Before the first step only the training half itself can fail, and it has printed why.
  if (outcome.last_step.empty() && WIFEXITED(status) && WEXITSTATUS(status) == kExitError) return kExitError;
  const std::string step = outcome.last_step.empty() ? "starting" : outcome.last_step;
  throw PluginError("plugin " + arguments.target + ": " + how_it_ended(status, answered) + " while " +
                        (outcome.done ? "ending after all checks passed" : step),
                    "a debugger shows where: gdb --args stc-host plugins check --report-fd 1 " + arguments.target);
}

}  // namespace stc::host
