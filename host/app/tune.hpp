/// \file
/// The parts of `stc-host tune` that need no run: what there is to try, when a change is taken, what is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/app/child_run.hpp"
#include "host/config/settings.hpp"

namespace stc::host {

/// One change of a config.
struct TuneCandidate {
  KeyValues changes;
  std::string text;  // "data.micro_batch_size: 8"
};

/// What a trial of the current best showed, as far as the next candidates depend on it.
struct TuneState {
  int64_t micro_batch = 1;
  int64_t target_batch = 1;
  int64_t workers = 0;
  int64_t threads = 1;  // that the run used
  int64_t cores = 1;
  double data_share = 0;  // of a step that waits for data
  bool checkpointing = false;
  bool over_memory = false;     // the peak is above what the user allows
  bool fused_optimizer = true;  // false: optimizer.fused is false
  bool fast_path_off = false;   // run.fast_path is off
  bool fused_path = true;       // that the run took
  std::string no_fused_path;    // why it did not
  std::string precision;
  std::string device;
};

/// The levers of the page docs/guide/local-performance.md, in its order.
enum class Lever { kMicroBatch, kThreads, kLoader, kPrecision, kFusedOptimizer, kCheckpointing, kFastPath };
inline constexpr Lever kLevers[] = {Lever::kMicroBatch,     Lever::kThreads,       Lever::kLoader,  Lever::kPrecision,
                                    Lever::kFusedOptimizer, Lever::kCheckpointing, Lever::kFastPath};

/// Candidates of a lever, the likeliest first; empty with `why_not` filled in where it has none to try.
std::vector<TuneCandidate> candidates_of(Lever lever, const TuneState& state, std::string& why_not);

/// The paired measurements of a candidate and the best so far.
struct TuneResult {
  std::string text;
  std::vector<double> gains;           // tokens per second to those of the best so far, by pair
  double memory = 1;                   // peak memory to that of the best so far
  double distance = 0;                 // largest relative difference of a loss to the reference's
  bool fits = true;                    // within the memory that the user allows
  std::optional<std::string> failure;  // the run's error
};

/// Gains below this are taken for noise, whatever the pairs say.
inline constexpr double kLeastGain = 1.02;

/// Whether it is taken; `verdict` says why or why not. A candidate that `saves_memory` need not be faster.
bool is_taken(const TuneResult& result, double most_distance, bool saves_memory, std::string& verdict);

/// Largest |a - b| / |b| over the steps that both have. NaN counts as infinite.
double loss_distance(const std::vector<double>& losses, const std::vector<double>& baseline);

}  // namespace stc::host
