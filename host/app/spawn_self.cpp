#include "host/app/spawn_self.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace stc::host {
namespace {

/// Between fork and exec, so async-signal-safe calls only. \returns the error of the system.
int become_child(pid_t parent, const ChildDescriptors& descriptors, char* const* argv) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != parent) _exit(128 + SIGKILL);  // it ended before the line above
  for (const auto& [here, there] : descriptors) {
    const int result = here == there ? ::fcntl(there, F_SETFD, 0) : ::dup2(here, there);
    if (result < 0) return errno;
  }
  ::execv(argv[0], argv);
  return errno;
}

}  // namespace

int spawn_self(std::vector<std::string> words, const ChildDescriptors& descriptors, pid_t& child) {
  words.insert(words.begin(), "/proc/self/exe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int ends[2] = {-1, -1};  // closed by the exec, else it brings the error
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  const pid_t parent = ::getpid();
  // Not fork(): handlers of libraries for it may wait for threads that this process uses.
  const pid_t pid = ::_Fork();
  if (pid == 0) {
    const int error = become_child(parent, descriptors, argv.data());
    [[maybe_unused]] const ssize_t told = ::write(ends[1], &error, sizeof error);
    _exit(127);
  }
  int error = pid < 0 ? errno : 0;
  ::close(ends[1]);
  ssize_t got = 0;
  while (pid > 0 && (got = ::read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  if (pid > 0 && got == sizeof error) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return error;
  }
  child = pid;
  return error;
}

}  // namespace stc::host
