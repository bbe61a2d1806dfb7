/// \file
/// What a path given by the user means: a checkpoint, a checkpoints folder, or a run folder.
#pragma once

#include <string>

#include "host/checkpoint/file_system.hpp"

namespace stc::host {

struct CheckpointPath {
  enum class Kind { kCheckpoint, kFolder };
  Kind kind = Kind::kFolder;
  std::string path;
};

/// A run folder answers with the checkpoints folder in it. Links are followed here, as the path is
/// the user's own word. \throws CheckpointError when the path is none of these.
CheckpointPath resolve_checkpoint_path(FileSystem& files, const std::string& path);

}  // namespace stc::host
