#include "host/app/child_run.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "host/app/spawn_self.hpp"
#include "host/config/config.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

/// The last error that a run printed; empty: none.
struct LastWords {
  std::string message, hint;
};

LastWords last_words(const std::string& text) {
  LastWords out;
  const std::string error = "error: ", at = "  at ", hint = "  hint: ";
  const size_t begin = text.rfind("\n" + error);
  std::istringstream lines(begin == std::string::npos ? text : text.substr(begin + 1));
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with(error)) return out;
  out.message = line.substr(error.size());
  bool in_hint = false;
  while (std::getline(lines, line)) {
    if (line.starts_with(hint)) {
      in_hint = true;
      out.hint = line.substr(hint.size());
    } else if (!in_hint && line.starts_with(at)) {
      out.message += " (" + line.substr(2) + ")";
    } else {
      (in_hint ? out.hint : out.message) += "\n" + line;
    }
  }
  return out;
}

}  // namespace

KeyValues keys_of_a_quiet_run(const std::string& log) {
  return {{"logging.file", "null"}, {"logging.json_file", log}, {"logging.every_steps", "1"},
          {"logging.sinks", "[]"},  {"run.max_time", "null"},   {"early_stop", "null"}};
}

std::vector<std::string> run_words(const ConfigArguments& arguments, const std::string& output_dir, int64_t max_steps,
                                   const KeyValues& fixed) {
  std::vector<std::string> words = {"run", arguments.file};
  words.insert(words.end(), {"--max-steps", std::to_string(max_steps), "--output-dir", output_dir});
  if (arguments.device) words.insert(words.end(), {"--device", *arguments.device});
  for (const std::string& path : arguments.plugin_paths) words.insert(words.end(), {"--plugin-path", path});
  for (const auto& [key, value] : fixed) words.insert(words.end(), {"--set", key + "=" + value});
  for (const std::string& set : arguments.sets) {
    const std::string key = key_of_override(set);
    const bool given = key == "run.max_steps" || key == "run.output_dir" || find_value(fixed, key) != nullptr;
    if (!given) words.insert(words.end(), {"--set", set});
  }
  return words;
}

void put_value(KeyValues& all, const std::string& key, const std::string& value) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& item) { return item.first == key; });
  if (found == all.end()) {
    all.emplace_back(key, value);
  } else {
    found->second = value;
  }
}

ChildRun::ChildRun(std::string subject, std::vector<std::string> words, std::string output)
    : subject_(std::move(subject)), output_(std::move(output)) {
  const int file = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw Error(subject_ + ": " + output_ + ": " + std::generic_category().message(errno));
  const int error = spawn_self(std::move(words), {{file, STDOUT_FILENO}, {file, STDERR_FILENO}}, pid_);
  ::close(file);
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
  const std::string how = WIFEXITED(*status_) ? "exit code " + std::to_string(WEXITSTATUS(*status_))
                                              : "signal " + std::to_string(WTERMSIG(*status_));
  LastWords words = last_words(text);
  const bool began = text.find("train_start") != std::string::npos;
  if (!began && !words.message.empty()) throw Error(subject_ + ": " + words.message, words.hint);
  if (!words.message.empty()) words.message.insert(0, ": ");
  if (!words.hint.empty()) words.hint += "; ";
  throw TrainError(subject_ + ": a run ended with " + how + words.message,
                   words.hint + "all of its output is in " + output_);
}

}  // namespace stc::host
