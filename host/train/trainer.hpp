/// \file
/// The training loop. `Trainer::step` is the order of one optimizer step, as seven calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/checkpoint/store.hpp"
#include "host/config/settings.hpp"
#include "host/data/loader.hpp"
#include "host/events/bus.hpp"
#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/precision.hpp"
#include "host/train/review.hpp"
#include "host/train/routing.hpp"
#include "host/train/shape_validation.hpp"

namespace stc::host {

class Ema;

/// Counters of a run, cumulative over resume.
struct Counters {
  uint64_t step = 0;     // completed optimizer steps
  uint64_t samples = 0;  // rows of completed steps
  uint64_t tokens = 0;
  uint64_t micro_batches = 0;  // forwarded, of completed steps
};

/// What composition hands to the trainer. Borrowed; all outlive it.
struct TrainerParts {
  const Config* config = nullptr;
  const Settings* settings = nullptr;
  RunContext* context = nullptr;
  EventBus* events = nullptr;
  Model* model = nullptr;
  Optimizer* optimizer = nullptr;
  Precision* precision = nullptr;
  PrecisionPlan plan;
  Loader* loader = nullptr;
  CheckpointStore* store = nullptr;  // null: checkpoints are off
  Ema* ema = nullptr;                // null: no moving average
  StepReview* review = nullptr;      // null: nothing is evaluated
  std::string device_name;           // "cpu", "cuda:0"
  std::string run_id;
  /// Called once, when the first window has been computed and before the first save: takes the checkpoint
  /// folder. A run that fails before has changed nothing there. May be empty.
  std::function<void()> begin_saving;
  /// Whether losses and flags stay on the device until they are needed; null: unless that is the CPU.
  std::optional<bool> deferred_reads;
  ShapeReport shapes;
};

enum class StopReason { kTarget, kSignal, kEarlyStop, kTime };
/// "target", "signal", "early_stop", "max_time": field reason of train_end.
const char* stop_reason_word(StopReason reason);

struct FitResult {
  StopReason reason = StopReason::kTarget;
  Counters counters;
  std::optional<double> loss;  // of the last step made in this process
  bool last_save_failed = false;
  std::string last_save_error;  // path and reason
};

class Trainer {
 public:
  explicit Trainer(TrainerParts parts);
  ~Trainer();
  /// Restores counters, schedule, weights, optimizer, scaler, RNG and data position. Before fit.
  /// \param allowed  differences of settings that are accepted, see take_allowed.
  /// \throws CheckpointError naming each other difference of model, optimizer, data or run settings.
  void restore(const LoadedCheckpoint& checkpoint, const std::vector<std::string>& allowed = {});
  /// Trains to the target step, or until a signal, early stop or run.max_time ends the run after
  /// the step under way; leaves a checkpoint of its last step.
  FitResult fit();
  const Counters& counters() const;
  /// Which update the parameters get.
  const std::vector<AlgorithmShare>& routing() const;

 private:
  struct Window;
  bool finished(uint64_t target);
  void begin_saving();
  /// One optimizer step. False: the update was skipped (overflow, run.nan_policy).
  bool step();
  void run_micro_batches(Window& window);      // 1
  bool update_parameters(Window& window);      // 2; false: not made
  bool advance_schedule(Window& window);       // 3; false: the device had refused the update
  void meet_nodes(Window& window);             // 4
  void reset_inner_optimizer(Window& window);  // 5
  void average_weights(Window& window);        // after 5
  void record(Window& window);                 // 6
  void review(Window& window);                 // after 6
  void checkpoint_when_due(Window& window);    // 7

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stc::host
