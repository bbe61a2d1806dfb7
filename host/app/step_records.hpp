/// \file
/// Reading the step records of event logs, whole or growing, and telling what two of them differ in.
#pragma once

#include <cstdint>
#include <ios>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "host/config/config.hpp"

namespace stc::host {

/// What one step logged that a resumed run must log again.
using StepRecords = std::map<int64_t, std::string>;

/// Reads the train_step records of an event log. A step that was made again after a kill must have given the same
/// record: \throws CheckpointError naming the step and both records. A last line that was cut is left out.
StepRecords read_step_records(const std::string& path);

/// Follows an event log that grows, or is not there yet, without reading any line twice.
class StepFollower {
 public:
  explicit StepFollower(std::string path) : path_(std::move(path)) {}
  /// The step of the last whole train_step record; 0: none.
  int64_t last_step();

 private:
  std::string path_;
  std::streamoff read_ = 0;  // bytes of whole lines
  int64_t step_ = 0;
};

/// The first step whose records differ, or that one side lacks, in words; nullopt: equal.
std::optional<std::string> first_difference(const StepRecords& whole, const StepRecords& broken);

/// Leaves out of a comparison (host/checkpoint/compare.hpp) what tells two runs of one config apart by name alone:
/// their ids and folders.
void drop_names(Value& comparison);

}  // namespace stc::host
