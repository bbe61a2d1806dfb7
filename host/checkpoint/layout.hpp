/// \file
/// Names inside a checkpoints folder (grammar: docs/reference/checkpoint.md). Names that come out
/// of files are data: only what these functions accept ever becomes part of a path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/checkpoint/file_system.hpp"

namespace stc::host {

inline constexpr const char* kLatestFile = "latest.json";
inline constexpr const char* kBestFile = "best.json";
inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kLockFile = ".lock";
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kEmaFile = "ema.safetensors";
inline constexpr const char* kCoordinatorFile = "coordinator.safetensors";
inline constexpr const char* kStateFile = "state.json";

/// Path of `step`'s folder name: "step_000000000042". \throws CheckpointError above 12 digits.
std::string step_folder_name(uint64_t step);

/// 42 for "step_000000000042"; nullopt for anything else.
std::optional<uint64_t> parse_step_folder_name(std::string_view name);

/// ".tmp-<pid>-<what>": something being made or removed by process `pid`.
std::string temporary_name(int64_t pid, std::string_view what);

/// The process of a temporary name; nullopt when the name is no temporary's.
std::optional<int64_t> temporary_owner(std::string_view name);

/// 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with a dot: safe as a part of a file name.
bool is_run_id(std::string_view text);

/// What lies in a checkpoints folder, by kind.
struct FolderContents {
  std::vector<uint64_t> steps;           // of step_<12 digits> directories, falling
  std::vector<std::string> legacy;       // step_*.pt of Speedtronic 2.0.0, by name
  std::vector<std::string> temporaries;  // by name
  std::vector<std::string> foreign;      // names that are none of ours
  bool has_run_file = false;
};

/// An absent folder is empty. \throws FileError.
FolderContents scan_folder(FileSystem& files, const std::string& directory);

/// Where latest.json or best.json points.
struct Pointer {
  bool present = false;
  std::optional<uint64_t> step;  // nullopt: absent or broken
  std::string problem;           // why it is broken
};

/// \throws nothing about the file's content.
Pointer read_pointer(FileSystem& files, const std::string& directory, const char* name);

/// The content of a pointer file.
std::string pointer_text(uint64_t step);

/// The run id in run.json; nullopt when the file is absent or broken.
std::optional<std::string> read_run_file(FileSystem& files, const std::string& directory);

/// The content of run.json.
std::string run_file_text(const std::string& run_id);

}  // namespace stc::host
