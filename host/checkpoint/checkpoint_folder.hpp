/// \file
/// One checkpoint as a folder: written, checked, read. Where folders lie and which one counts is
/// store.hpp's.
#pragma once

#include <string>
#include <vector>

#include "host/checkpoint/manifest.hpp"
#include "host/checkpoint/store.hpp"

namespace stc::host {

enum class Verify {
  kSizes,   // sizes of all files
  kHashes,  // sizes and hashes
};

/// Writes all files into the existing, empty `folder` and syncs them and the folder; manifest.json
/// comes last. Equal snapshots give equal bytes. \returns the manifest's text. \throws
/// CheckpointError.
std::string write_checkpoint(FileSystem& files, const std::string& folder, const Snapshot& snapshot,
                             const std::string& run_id, const std::string& version);

/// What is wrong with the files that the manifest lists: one line a file, "<path>: <why>".
std::vector<std::string> check_files(FileSystem& files, const std::string& folder, const Manifest& manifest,
                                     Verify verify);

/// \throws CheckpointError naming the first file that is wrong, and why.
LoadedCheckpoint read_checkpoint(FileSystem& files, const std::string& folder, Verify verify = Verify::kHashes);

/// read_manifest, and its step must be the one in the folder's name, if that is a step's.
Manifest read_folder_manifest(FileSystem& files, const std::string& folder);

}  // namespace stc::host
