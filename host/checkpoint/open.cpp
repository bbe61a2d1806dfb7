#include "host/checkpoint/open.hpp"

#include <filesystem>
#include <vector>

#include "host/checkpoint/checkpoint_folder.hpp"
#include "host/checkpoint/folder.hpp"
#include "host/checkpoint/layout.hpp"

namespace stc::host {
namespace {

constexpr const char* kUsualFolder = "checkpoints";

bool is_checkpoints_folder(const FolderContents& contents) {
  return contents.has_run_file || !contents.steps.empty() || !contents.legacy.empty();
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().filename().string();
}

/// Folders of checkpoints directly below `path`; the one with the usual name alone when it is
/// there.
std::vector<std::string> folders_below(FileSystem& files, const std::string& path) {
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : files.list(path)) {
    const std::string below = join_path(path, entry.name);
    if (!std::filesystem::is_directory(below)) continue;
    if (!is_checkpoints_folder(scan_folder(files, below))) continue;
    if (entry.name == kUsualFolder) return {below};
    found.push_back(below);
  }
  return found;
}

}  // namespace

CheckpointPath resolve_checkpoint_path(FileSystem& files, const std::string& path) {
  const char* expected = "expected a step_<12 digits> folder, a checkpoints folder or a run folder";
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw CheckpointError(path + ": does not exist, " + expected);
  }
  if (!std::filesystem::is_directory(status)) {
    throw CheckpointError(path + ": unknown format, a file is no checkpoint, " + expected);
  }
  // By its name too, so that a checkpoint that lost its manifest is reported as such.
  if (files.kind(join_path(path, kManifestFile)) || parse_step_folder_name(name_of(path))) {
    return {CheckpointPath::Kind::kCheckpoint, path};
  }
  if (is_checkpoints_folder(scan_folder(files, path))) return {CheckpointPath::Kind::kFolder, path};
  const std::vector<std::string> below = folders_below(files, path);
  if (below.size() == 1) return {CheckpointPath::Kind::kFolder, below.front()};
  if (below.empty()) throw CheckpointError(path + ": holds no checkpoints, " + expected);
  throw CheckpointError(path + ": holds several checkpoints folders (" + name_of(below[0]) + ", " + name_of(below[1]) +
                            (below.size() > 2 ? ", ...)" : ")"),
                        "give one of them");
}

LoadedCheckpoint open_checkpoint(const std::string& path, const Note& note) {
  FileSystem& files = FileSystem::real();
  const CheckpointPath found = resolve_checkpoint_path(files, path);
  if (found.kind == CheckpointPath::Kind::kCheckpoint) return read_checkpoint(files, found.path);
  std::string last;
  auto loaded = open_newest(files, found.path, [&](const std::string& text) {
    last = text;
    if (note) note(text);
  });
  if (!loaded) {
    throw CheckpointError(found.path + ": no valid checkpoint" + (last.empty() ? "" : ": " + last));
  }
  return std::move(*loaded);
}

}  // namespace stc::host
