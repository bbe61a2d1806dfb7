/// \file
/// A short run of a config in a child process, measured: for `bench` and `tune`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/app/child_run.hpp"
#include "host/config/config.hpp"

namespace stc::host {

struct TrialRequest {
  std::string subject;  // the command, for messages
  const ConfigArguments& arguments;
  KeyValues changes;   // keys that win over the file and the user's --set
  int64_t steps = 10;  // measured, after `warmup` others
  int64_t warmup = 3;
  int64_t schedule_steps = 0;              // of the file's schedule, which the length of the trial must not bend
  std::string folder;                      // for its log; a new one
  const std::atomic<int>* stop = nullptr;  // not null: a number other than 0 there ends the trial
};

/// The trial was told to stop, or its time was up; its run was killed.
struct TrialStopped {};

struct Trial {
  double first_step_s = 0;               // from the start of the process to the end of the first step
  std::vector<double> step_s;            // of each measured step, from the end of the one before it
  std::map<std::string, double> phases;  // median seconds of a measured step, by phase: "data", "forward", ...
  std::vector<double> losses;            // of all steps
  double tokens = 0;                     // of a step
  int64_t peak_bytes = 0;
  Value start;             // the run's train_start record
  std::string no_fused;    // why it has no fused pass, where it says so
  double seconds() const;  // the median step
  double tokens_per_second() const { return tokens / seconds(); }
};

/// Checkpoints, evaluations, samples, sinks and early ends are off, every step is logged. Learning rate and schedule
/// are the file's own. \param deadline  the run is killed there. \throws TrainError when the run fails; TrialStopped.
Trial run_trial(const TrialRequest& request, std::chrono::steady_clock::time_point deadline);

}  // namespace stc::host
