// stc-host: reads the command line, answers what needs no LibTorch, and hands the rest to
// libstc_host.so.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "host/app/options.hpp"
#include "host/app/training_half.hpp"

namespace stc::host {
namespace {

/// A standard stream that the caller closed becomes /dev/null, so that no file of ours gets its
/// number.
void open_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      [[maybe_unused]] const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

bool reader_is_gone(int fd) {
  pollfd query{fd, POLLOUT, 0};
  return ::poll(&query, 1, 0) == 1 && (query.revents & POLLERR) != 0;
}

/// A reader that left early (`| head`) has what it wanted; output that got lost otherwise is an
/// error.
int finish_output(int code) {
  errno = 0;  // std::cout writes through stdout, so the first failure of either leaves its reason here
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  const int reason = errno;
  if ((flushed && std::ferror(stdout) == 0 && std::cout.good()) || reader_is_gone(STDOUT_FILENO)) return code;
  std::cerr << "error: standard output: " << (reason != 0 ? std::strerror(reason) : "it could not be written") << "\n";
  return code == kExitDone ? kExitError : code;
}

int run_command_line(const CommandLine& line) {
  if (const auto* print = std::get_if<PrintText>(&line.arguments)) {
    std::cout << print->text;
    return kExitDone;
  }
  if (const auto* list = std::get_if<PluginsListArguments>(&line.arguments)) return plugins_list_command(*list);
  if (const auto* check = std::get_if<PluginsCheckArguments>(&line.arguments);
      check != nullptr && check->report_fd < 0) {
    return check_in_child(*check);
  }
  return run_in_training_half(line);
}

int main_guarded(const std::vector<std::string>& words) {
  try {
    return run_command_line(parse_command_line(words));
  } catch (const Error& error) {
    std::cerr << error.render();
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
  }
  return kExitError;
}

}  // namespace
}  // namespace stc::host

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  stc::host::open_closed_streams();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stc::host::finish_output(stc::host::main_guarded(words));
}
