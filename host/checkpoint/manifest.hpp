/// \file
/// manifest.json: what makes a folder a checkpoint. Written last, so that a folder without it was
/// never finished.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "host/checkpoint/file_system.hpp"
#include "host/checkpoint/safetensors.hpp"

namespace stc::host {

inline constexpr uint64_t kCheckpointFormatVersion = 1;

struct Manifest {
  uint64_t step = 0;
  std::string run_id;
  std::string version;                      // of the program that wrote it
  std::map<std::string, FileDigest> files;  // every file of the folder but the manifest
};

/// The text of manifest.json. It ends in a hash of itself: each of its bytes counts.
std::string manifest_text(const Manifest& manifest);

/// Reads and checks `folder`/manifest.json: its own hash, the format version, plain file names, the
/// files that every checkpoint has. Does not look at the files. \throws CheckpointError.
Manifest read_manifest(FileSystem& files, const std::string& folder);

}  // namespace stc::host
