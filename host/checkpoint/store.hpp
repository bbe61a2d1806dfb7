/// \file
/// The folder of a run's checkpoints: write, rotate, find, verify, read (spec:
/// docs/reference/checkpoint.md).
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

/// One checkpoint in memory. Tensors own copies, so training may go on while it is written; they
/// are dense and row-major (a view is made contiguous by whoever fills this in) and may be freed on
/// the writer thread.
struct Snapshot {
  uint64_t step = 0;
  std::vector<HostTensor> model;
  Metadata model_metadata;  // "alias:<name>" -> canonical name of tied tensors
  std::vector<HostTensor> optimizer;
  std::vector<HostTensor> ema;          // empty: no ema.safetensors
  std::vector<HostTensor> coordinator;  // empty: no coordinator.safetensors
  Value state;                          // state.json; every number finite, all text UTF-8
  bool best = false;                    // the best validation loss of the run so far: best.json follows latest.json
};

/// A checkpoint read back. Tensors are views of mapped files, which stay readable after the folder
/// is rotated away.
struct LoadedCheckpoint {
  std::string path;
  uint64_t step = 0;
  std::string run_id;
  std::string version;  // of the program that wrote it
  std::vector<HostTensor> model;
  Metadata model_metadata;
  std::vector<HostTensor> optimizer;
  std::vector<HostTensor> ema;
  std::vector<HostTensor> coordinator;
  Value state;
};

struct StoreOptions {
  std::string directory;              // <output_dir>/<checkpoint.directory>
  std::optional<int64_t> keep_last;   // nullopt: keep all; less than 1 counts as 1
  std::optional<int64_t> keep_every;  // steps that are multiples are kept beyond keep_last
  std::string version;                // written into manifests
};

/// What happened to a save, told on the training thread by poll() and finish().
struct SaveResult {
  uint64_t step = 0;
  std::string path;
  std::string error;    // empty: written, synced, renamed, pointer replaced
  std::string warning;  // the save is whole, but best.json or an old checkpoint resisted
};

/// Receives one line about something found or done.
using Note = std::function<void(const std::string&)>;

/// One run's folder. begin_new or begin_resumed takes it: until the store is destroyed no other
/// process can take it. [train-thread] for every method.
class CheckpointStore {
 public:
  explicit CheckpointStore(StoreOptions options, FileSystem& files = FileSystem::real());
  /// Waits for the save under way and gives the folder up.
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  /// Makes the folder and locks it, without touching what is in it. Optional before begin_new.
  /// \throws CheckpointError as begin_new.
  void claim();
  /// Whether there is any step folder, readable or not.
  bool holds_steps() const;
  /// Takes the folder for a new run. A folder with checkpoints is renamed to
  /// <directory>.<its run id> (.2, .3 ... when taken) and reported through `note`; one without any
  /// is taken over. \param run_id 1 to 64 of A-Z a-z 0-9 . _ -. \throws CheckpointError when
  /// another process has the folder (naming it), when only .pt files of 2.0.0 are there (naming
  /// them), or when the folder cannot be written.
  void begin_new(const std::string& run_id, const Note& note);
  /// The newest valid checkpoint of this folder's run: latest.json's if valid, else the highest
  /// valid step. Each invalid one that was tried is reported through `note` with the file and the
  /// reason. nullopt: none. Needs no begin_*. \throws CheckpointError when only .pt files of 2.0.0
  /// are there.
  std::optional<LoadedCheckpoint> open_latest(const Note& note);
  /// Run id of the folder, empty when it holds none.
  std::string run_id() const;
  /// Continues the run whose id the folder has, with or without checkpoints.
  /// \throws CheckpointError as begin_new, and when the folder is another run's.
  void begin_resumed(const std::string& run_id);

  /// Hands the snapshot to the writer thread; waits first for an earlier save (at most one is
  /// written). A step that is there already is replaced in one move; when it holds the same bytes
  /// it is kept as it is. Never throws for the disk: see SaveResult. Needs begin_*.
  void save(Snapshot snapshot);
  /// Finished saves since the last call, without waiting.
  std::vector<SaveResult> poll();
  /// Waits for the save under way.
  std::vector<SaveResult> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens one step folder, or the newest valid one of a checkpoints folder or a run folder (the
/// folder that holds the checkpoints folder), and verifies sizes and hashes. \param note may be
/// empty. \throws CheckpointError.
LoadedCheckpoint open_checkpoint(const std::string& path, const Note& note = {});

/// Path of `step`'s folder name: "step_000000000042".
std::string step_folder_name(uint64_t step);

}  // namespace stc::host
