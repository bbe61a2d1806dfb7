/// \file
/// This program once more, as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace stc::host {

/// Descriptors of the child: {descriptor here, its number there}. All others that are not closed on exec are inherited.
using ChildDescriptors = std::vector<std::pair<int, int>>;

/// Starts it with this process's environment. The system kills the child with SIGKILL when the calling thread ends,
/// also when this process is killed. \param words  its arguments, without the program's name. \returns 0, or the error
/// of the system.
int spawn_self(std::vector<std::string> words, const ChildDescriptors& descriptors, pid_t& child);

}  // namespace stc::host
