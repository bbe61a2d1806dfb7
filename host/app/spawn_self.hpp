/// \file
/// This program once more, as a child process.
#pragma once

#include <spawn.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace stc::host {

/// Starts it with this process's environment. \param words  its arguments, without the program's name. \returns 0, or
/// the error of the system.
inline int spawn_self(std::vector<std::string> words, const posix_spawn_file_actions_t& actions, pid_t& child) {
  words.insert(words.begin(), "/proc/self/exe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, argv.data(), environ);
}

}  // namespace stc::host
