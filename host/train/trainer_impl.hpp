/// \file
/// The trainer's members and the state of one optimizer step. Private to host/train.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "host/errors/error.hpp"
#include "host/train/device_flag.hpp"
#include "host/train/gradient_pass.hpp"
#include "host/train/host_copies.hpp"
#include "host/train/phases.hpp"
#include "host/train/rates.hpp"
#include "host/train/stage_streams.hpp"
#include "host/train/trainer.hpp"

namespace stc::host {

/// A loss or gradient norm that is not a number; the update was not made.
class NonFiniteError : public TrainError {
  using TrainError::TrainError;
};

/// What one optimizer step collects on its way through Trainer::step.
struct Trainer::Window {
  int64_t micro_batches = 0;
  int64_t rows = 0;
  int64_t tokens = 0;
  /// N: valid labels of the window. A micro-batch without a labels field counts its capacity.
  double valid_labels = 0;
  /// sum n_i l_i: on the host, or on the device where reads are deferred.
  double weighted_loss = 0;
  at::Tensor device_loss;
  double lr = 0;
  double loss_scale = 1;
  std::optional<double> grad_norm;  // unscaled, before clipping
  at::Tensor device_grad_norm;      // the same where reads are deferred
  std::vector<std::pair<std::string, at::Tensor>> auxiliary;
  /// Not 0: the device refused the update. Read when the result is needed, at the latest before the
  /// next update is issued.
  std::optional<DeviceFlag> refused;
  // for messages and replay, by micro-batch; of a long window the first ones
  std::vector<std::shared_ptr<const Batch>> batches;
  std::vector<at::Tensor> losses;
  std::vector<uint64_t> dropout_keys;
};

struct Trainer::Impl {
  explicit Impl(TrainerParts trainer_parts);

  TrainerParts parts;
  const Settings& settings;
  Counters counters;
  HostCopies copies;        // of the last snapshot
  uint64_t first_step = 0;  // counters.step when this process began to train

  // trainable parameters in the order of bind
  std::vector<const ModelParameter*> trainable;
  std::vector<at::Tensor> trainable_tensors;
  std::vector<at::Tensor> owned_gradients;  // the model's own buffers; undefined: .grad is used
  int64_t parameter_count = 0;
  std::vector<AlgorithmShare> routing;

  PhaseClock phases;
  GradientPass pass;
  std::optional<StageStreams> ooo;  // with ooo_backprop
  bool deferred = false;            // results stay on the device until they are needed
  bool fused = false;               // loss_and_grad is in use
  std::string no_fused_reason;
  int64_t capacity = 0;  // micro_batch_size * block_size: tokens of a full micro-batch
  int64_t skips_in_a_row = 0;
  int64_t replays_written = 0;
  std::optional<uint64_t> last_replay_step;
  std::optional<Window> pending;  // updated on the device, flag not yet read
  std::optional<double> last_loss;
  LoaderPosition step_begin;  // position after the last step made or skipped
  at::Tensor rng_at_step_begin;
  std::optional<uint64_t> last_saved_step;
  bool last_save_failed = false;
  std::string last_save_error;
  bool saving_begun = false;
  bool best = false;                 // the step just made has the best validation loss so far
  std::optional<StopReason> ending;  // set: the run ends with the step just made
  double train_start_s = 0;
  RateMeter rates;

  bool stop_requested() const;
  bool result_is_due() const;
  // window.cpp
  void micro_batch(Window& window, int64_t index);
  PassOutcome run_pass(const stc_pass_info& info, const DeviceBatch& batch);
  void add_loss(Window& window, const at::Tensor& loss, double weight) const;
  void choose_path();
  void emit_path();
  void choose_streams();
  // review.cpp
  void review_step(bool ends);
  void review_resumed_step();
  // update.cpp
  void bind_optimizer();
  void bind_groups();
  std::vector<at::Tensor> gradients() const;
  void clear_gradients();
  at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) const;
  double gradient_factor(const Window& window) const;
  double window_loss(const Window& window) const;
  bool prepare_on_host(Window& window, const std::vector<at::Tensor>& gradients, stc_step_info& info);
  void prepare_on_device(Window& window, const std::vector<at::Tensor>& gradients, stc_step_info& info,
                         at::Tensor& factor, at::Tensor& refused);
  bool settle(Window& window);
  bool settle_pending();
  // non_finite.cpp
  bool accept_non_finite(const Window& window, double loss);
  void skip_update(const std::string& reason);
  std::string write_replay(const Window& window);
  std::optional<std::string> spoiled_weight() const;
  // report.cpp
  void emit_train_start(uint64_t target);
  void emit_train_step(Window& window);
  void emit_train_end(StopReason reason);
  // snapshot.cpp
  Snapshot make_snapshot(const LoaderPosition& position, const at::Tensor& rng);
  Value fingerprints() const;
  void tell_other_rounding(const Value& state) const;
  void check_fingerprints(const LoadedCheckpoint& checkpoint, const std::vector<std::string>& allowed) const;
  void restore_optimizer(const LoadedCheckpoint& checkpoint);
  void restore_ema(const LoadedCheckpoint& checkpoint);
  void report_saves(std::vector<SaveResult> results);
  void save(const LoaderPosition& position, const at::Tensor& rng);
  void save_last_step();
};

}  // namespace stc::host
