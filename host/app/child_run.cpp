#include "host/app/child_run.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>

#include "host/app/spawn_self.hpp"
#include "host/errors/error.hpp"

namespace stc::host {

std::vector<std::string> run_words(const ConfigArguments& arguments, const std::string& output_dir, int64_t max_steps,
                                   const KeyValues& fixed) {
  std::vector<std::string> words = {"run", arguments.file};
  words.insert(words.end(), {"--max-steps", std::to_string(max_steps), "--output-dir", output_dir});
  if (arguments.device) words.insert(words.end(), {"--device", *arguments.device});
  for (const std::string& path : arguments.plugin_paths) words.insert(words.end(), {"--plugin-path", path});
  for (const auto& [key, value] : fixed) words.insert(words.end(), {"--set", key + "=" + value});
  for (const std::string& set : arguments.sets) {
    if (find_value(fixed, set.substr(0, set.find('='))) == nullptr) words.insert(words.end(), {"--set", set});
  }
  return words;
}

ChildRun::ChildRun(std::string subject, std::vector<std::string> words, std::string output)
    : subject_(std::move(subject)), output_(std::move(output)) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = spawn_self(std::move(words), actions, pid_);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(subject_ + ": cannot start a process: " + std::generic_category().message(error));
  }
}

ChildRun::~ChildRun() {
  if (!status_) kill_and_wait();
}

bool ChildRun::running() {
  if (status_) return false;
  int status = 0;
  rusage usage{};
  if (::wait4(pid_, &status, WNOHANG, &usage) == pid_) {
    status_ = status;
    peak_bytes_ = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  }
  return !status_;
}

void ChildRun::kill_and_wait() {
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

void ChildRun::expect_success() const {
  if (WIFEXITED(*status_) && WEXITSTATUS(*status_) == kExitDone) return;
  std::ifstream in(output_);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t error = text.rfind("error: ");
  throw TrainError(subject_ + ": a run ended with " +
                       (WIFEXITED(*status_) ? "exit code " + std::to_string(WEXITSTATUS(*status_))
                                            : "signal " + std::to_string(WTERMSIG(*status_))) +
                       (error == std::string::npos ? "" : ": " + text.substr(error + 7)),
                   "all of its output is in " + output_);
}

}  // namespace stc::host
