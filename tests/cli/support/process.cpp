#include "tests/cli/support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace stc::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe: " + std::string(std::strerror(errno)));
  }
  ~Pipe() {
    for (int i : {0, 1}) close_end(i);
  }
  void close_end(int i) {
    auto& end = ends[static_cast<std::size_t>(i)];
    if (end >= 0) close(end);
    end = -1;
  }
  int read_end() const { return ends[0]; }
  int write_end() const { return ends[1]; }
  std::array<int, 2> ends{-1, -1};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Only async-signal-safe calls: the parent has threads' worth of state.
[[noreturn]] void become_program(const char* program, char* const* argv, char* const* environment,
                                 const char* directory, int in, int out, int err) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number :
       {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
  if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 && chdir(directory) == 0) {
    execve(program, argv, environment);
  }
  _exit(127);
}

// Reads what is there; closes the end and returns false at the end of the stream.
bool drain(Pipe& pipe, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(pipe.read_end(), buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == 0) pipe.close_end(0);
  return got != 0;
}

// Reads both streams to their end, sends the signal when its text appears, kills at the time limit.
void follow(const ProcessRequest& request, pid_t child, Pipe& out, Pipe& err, ProcessResult& result) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.timeout_s));
  while (out.read_end() >= 0 || err.read_end() >= 0) {
    std::array<pollfd, 2> polls{pollfd{out.read_end(), POLLIN, 0}, pollfd{err.read_end(), POLLIN, 0}};
    poll(polls.data(), polls.size(), 20);
    if (polls[0].revents != 0) drain(out, result.out);
    if (polls[1].revents != 0) drain(err, result.err);
    if (!request.signal_when.empty() && !result.signal_sent &&
        (result.out + result.err).find(request.signal_when) != std::string::npos) {
      kill(child, request.signal);
      result.signal_sent = true;
    }
    if (!result.timed_out && Clock::now() > deadline) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
  }
}

}  // namespace

ProcessResult run_process(const ProcessRequest& request) {
  std::vector<std::string> arguments = request.argv;
  std::vector<std::string> variables;
  for (const auto& [name, value] : request.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> environment = pointers(variables);
  if (access(argv[0], X_OK) != 0) throw std::runtime_error("cannot run " + request.argv[0]);

  Pipe in, out, err;
  // Inputs of the cases fit into a pipe; writing first cannot block.
  if (!request.input.empty() &&
      write(in.write_end(), request.input.data(), request.input.size()) != ssize_t(request.input.size())) {
    throw std::runtime_error("stdin: longer than a pipe");
  }
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (child == 0) {
    become_program(argv[0], argv.data(), environment.data(), request.directory.c_str(), in.read_end(), out.write_end(),
                   err.write_end());
  }
  setpgid(child, child);
  in.close_end(0);
  in.close_end(1);
  out.close_end(1);
  err.close_end(1);

  ProcessResult result;
  follow(request, child, out, err, result);
  int status = 0;
  waitpid(child, &status, 0);
  kill(-child, SIGKILL);  // what it may have left behind
  result.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace stc::test
