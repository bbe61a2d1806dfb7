/// \file
/// The folder of a run's checkpoints: write, rotate, find, verify, read (spec: docs/reference/checkpoint.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/checkpoint/safetensors.hpp"
#include "host/config/config.hpp"

namespace stc::host {

/// One checkpoint in memory. Tensors own copies, so training may go on while it is written.
struct Snapshot {
  uint64_t step = 0;
  std::vector<HostTensor> model;
  Metadata model_metadata;  // "alias:<name>" -> canonical name of tied tensors
  std::vector<HostTensor> optimizer;
  std::vector<HostTensor> coordinator;
  Value state;  // state.json
};

/// A checkpoint read back. Tensors are views of mapped files.
struct LoadedCheckpoint {
  std::string path;
  uint64_t step = 0;
  std::vector<HostTensor> model;
  Metadata model_metadata;
  std::vector<HostTensor> optimizer;
  std::vector<HostTensor> coordinator;
  Value state;
};

struct StoreOptions {
  std::string directory;  // <output_dir>/<checkpoint.directory>
  std::optional<int64_t> keep_last;
  std::optional<int64_t> keep_every;
  std::string version;  // written into manifests
};

/// What happened to a save, told on the training thread by poll() and finish().
struct SaveResult {
  uint64_t step = 0;
  std::string path;
  std::string error;  // empty: written, synced, renamed, pointer replaced
};

class CheckpointStore {
 public:
  explicit CheckpointStore(StoreOptions options);
  ~CheckpointStore();

  /// Takes the folder for a new run. A folder with another run's checkpoints is renamed to
  /// <directory>.<its run id> and reported through `note`. Only .pt files of 2.0.0: an error naming them.
  void begin_new(const std::string& run_id, const std::function<void(const std::string&)>& note);
  /// The newest valid checkpoint of this folder: latest.json's if valid, else the highest valid step.
  /// Each invalid one is reported through `note` with the reason. nullopt: none.
  std::optional<LoadedCheckpoint> open_latest(const std::function<void(const std::string&)>& note);
  /// Run id of the folder, empty when it holds none.
  std::string run_id() const;
  /// Continues the run whose id the folder has.
  void begin_resumed(const std::string& run_id);

  /// Hands the snapshot to the writer thread; waits first for an earlier save (at most one is written).
  void save(Snapshot snapshot);
  /// Finished saves since the last call. [train-thread]
  std::vector<SaveResult> poll();
  /// Waits for the save under way.
  std::vector<SaveResult> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens one step folder, or the newest of a checkpoint folder or run folder, and verifies sizes and
/// hashes. \throws CheckpointError.
LoadedCheckpoint open_checkpoint(const std::string& path);

/// Path of `step`'s folder name: "step_000000000042".
std::string step_folder_name(uint64_t step);

}  // namespace stc::host
