/// \file
/// A training run of this program in a child process, with its own folder: for commands that make runs to look at.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/app/commands.hpp"

namespace stc::host {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// The value of a key; null: it is not there.
inline const std::string* find_value(const KeyValues& all, const std::string& key) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& item) { return item.first == key; });
  return found == all.end() ? nullptr : &found->second;
}

/// Replaces the value of a key, or adds it.
void put_value(KeyValues& all, const std::string& key, const std::string& value);

/// Keys of a run that leaves nothing outside its folder and ends by its steps alone, with a record of each in `log`.
KeyValues keys_of_a_quiet_run(const std::string& log);

/// Words of `run FILE` with the user's flags, into `output_dir`. `fixed` keys, steps and folder win over the user's
/// --set.
std::vector<std::string> run_words(const ConfigArguments& arguments, const std::string& output_dir, int64_t max_steps,
                                   const KeyValues& fixed);

/// A run under way; killed when it is dropped. One thread.
class ChildRun {
 public:
  /// \param subject  the command, for messages. \param words  arguments of this program. \param output  file for all
  /// that it prints. \throws Error when no process can be started.
  ChildRun(std::string subject, std::vector<std::string> words, std::string output);
  ~ChildRun();
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;

  /// Whether it still runs.
  bool running();
  void kill_and_wait();
  /// Its largest resident memory in bytes. \pre it has ended.
  int64_t peak_bytes() const { return peak_bytes_; }
  /// \pre it has ended. \throws unless it ended well: TrainError with its last words, its output is worth keeping;
  /// Error with its message where it did not begin to train and says why.
  void expect_success() const;

 private:
  std::string subject_, output_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  int64_t peak_bytes_ = 0;
};

}  // namespace stc::host
