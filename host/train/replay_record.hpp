/// \file
/// The window of an update that was not finite, kept so that it can be run again.
///
/// `<run.output_dir>/replay/step_<12 digits>/` holds replay.json (what happened, dropout keys, loss scale,
/// configuration without secrets), batches.safetensors (fields as "<micro-batch>/<name>") and
/// model.safetensors (parameters and buffers before the update).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/checkpoint/safetensors.hpp"
#include "host/config/config.hpp"
#include "host/data/loader.hpp"

namespace stc::host {

struct ReplayMicroBatch {
  std::shared_ptr<const Batch> batch;
  double loss = 0;  // as it came out; NaN and infinity allowed
  uint64_t dropout_key = 0;
};

struct ReplayRecord {
  uint64_t step = 0;  // completed before the window
  std::string run_id;
  std::string policy;
  double loss_scale = 1;
  std::optional<double> grad_norm;
  std::vector<ReplayMicroBatch> micro_batches;
  std::vector<HostTensor> weights;
  Value config;
};

/// Writes the record; an older one of the same step is replaced. Returns its folder.
/// \throws CheckpointError with path and reason; nothing half-written stays under the record's name.
std::string write_replay_record(const std::string& run_dir, const ReplayRecord& record);

/// Reads a record's folder, or the newest record of a run's folder. Tensors are views of mapped files.
/// \throws CheckpointError
ReplayRecord read_replay_record(const std::string& path);
/// The folder that read_replay_record reads. \throws CheckpointError when there is none.
std::string find_replay_record(const std::string& path);

}  // namespace stc::host
