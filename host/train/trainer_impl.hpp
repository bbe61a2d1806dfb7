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
#include "host/train/rates.hpp"
#include "host/train/trainer.hpp"

namespace stc::host {

/// A loss or gradient norm that is not a number; the update was not made.
class NonFiniteError : public TrainError { using TrainError::TrainError; };

/// What one optimizer step collects on its way through Trainer::step.
struct Trainer::Window {
  int64_t micro_batches = 0;
  int64_t rows = 0;
  int64_t tokens = 0;
  /// N: valid labels of the window. A micro-batch without a labels field counts its capacity.
  double valid_labels = 0;
  /// sum n_i l_i, on the host for CPU runs, else `device_loss`.
  double weighted_loss = 0;
  at::Tensor device_loss;
  double lr = 0;
  std::optional<double> grad_norm;  // unscaled, before clipping
  std::vector<std::pair<std::string, double>> auxiliary;
  std::vector<std::string> where;  // of each batch, for errors

  /// A masked micro-batch weighs nothing, whatever its model returned for it.
  void add_loss(double weight, double loss) {
    if (weight > 0) weighted_loss += weight * loss;
  }
};

struct Trainer::Impl {
  explicit Impl(TrainerParts trainer_parts);

  TrainerParts parts;
  const Settings& settings;
  Counters counters;
  uint64_t first_step = 0;  // counters.step when this process began to train

  // trainable parameters in the order of bind
  std::vector<const ModelParameter*> trainable;
  std::vector<at::Tensor> trainable_tensors;
  std::vector<at::Tensor> owned_gradients;  // the model's own buffers; undefined: .grad is used
  int64_t parameter_count = 0;
  std::vector<AlgorithmShare> routing;

  bool on_cpu = true;
  bool fused = false;       // loss_and_grad is in use
  int64_t capacity = 0;     // micro_batch_size * block_size: tokens of a full micro-batch
  int64_t skips_in_a_row = 0;
  std::optional<double> last_loss;
  LoaderPosition step_begin;  // position after the last step made or skipped
  at::Tensor rng_at_step_begin;
  std::optional<uint64_t> last_saved_step;
  bool last_save_failed = false;
  double train_start_s = 0;
  RateMeter rates;

  // window.cpp
  void micro_batch(Window& window, int64_t index);
  double backward(const at::Tensor& loss, double weight);
  bool run_fused(Window& window, const stc_pass_info& info, const std::vector<NamedHandle>& inputs,
                 double weight);
  void choose_path();
  // update.cpp
  void bind_optimizer();
  std::vector<at::Tensor> gradients() const;
  void clear_gradients();
  double gradient_norm(const std::vector<at::Tensor>& gradients) const;
  double gradient_factor(const Window& window) const;
  void check_finite(const Window& window, double loss) const;
  double window_loss(const Window& window) const;
  // snapshot.cpp
  Snapshot make_snapshot(const LoaderPosition& position, const at::Tensor& rng);
  Value fingerprints() const;
  void restore_optimizer(const LoadedCheckpoint& checkpoint);
  void report_saves(std::vector<SaveResult> results);
  void save(const LoaderPosition& position, const at::Tensor& rng);
  void save_last_step();
  bool stop_requested() const;
  void emit_train_start(uint64_t target);
};

}  // namespace stc::host
