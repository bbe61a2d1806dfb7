/// \file
/// What is done to a checkpoints folder besides writing into it: finding the newest valid
/// checkpoint, taking the folder for a run, clearing away what dead processes left, rotation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/checkpoint/layout.hpp"
#include "host/checkpoint/store.hpp"

namespace stc::host {

/// Run id of run.json, else of the newest checkpoint whose manifest can be read, else empty.
std::string folder_run_id(FileSystem& files, const std::string& directory);

/// See CheckpointStore::open_latest.
std::optional<LoadedCheckpoint> open_newest(FileSystem& files, const std::string& directory, const Note& note);

/// \throws CheckpointError naming the .pt files when `contents` has such and no checkpoint of ours.
void refuse_legacy(const std::string& directory, const FolderContents& contents);

/// Takes the folder's lock. Null where the file system has no locks.
/// \throws CheckpointError naming the process that has it.
std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& directory);

/// `path`.`id`, with .2, .3 ... when taken.
std::string free_archive_name(FileSystem& files, const std::string& path, const std::string& id);

/// Moves what belongs to the old run to <directory>.<run id>, the folder as a whole when nothing
/// else lies in it. \returns the new path.
std::string archive_folder(FileSystem& files, const std::string& directory, const FolderContents& contents);

/// Removes temporaries of this process and of processes that are gone. What cannot be removed
/// stays.
void remove_leftovers(FileSystem& files, const std::string& directory);

/// Writes run.json.
void write_run_file(FileSystem& files, const std::string& directory, const std::string& run_id);

struct RotationRule {
  std::string run_id;
  uint64_t saved_step = 0;  // never removed; later steps neither count nor go
  std::optional<int64_t> keep_last;
  std::optional<int64_t> keep_every;
  std::optional<uint64_t> best;  // stays too
};

/// Removes old checkpoints of the run. Counts only those whose files have their sizes, so that a
/// damaged one never displaces a good one. \throws CheckpointError.
void rotate(FileSystem& files, const std::string& directory, const RotationRule& rule);

}  // namespace stc::host
