// A loss or gradient norm that is not a number: run.nan_policy, and the record for `stc-host replay`.

#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "host/train/replay_record.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer_impl.hpp"

namespace stc::host {
namespace {

/// Records hold a copy of the weights: a run that goes wrong at every step must not fill the disk.
constexpr int64_t kMaxReplays = 3;

/// The first of them by name.
std::string describe_batches(const std::vector<std::shared_ptr<const Batch>>& batches, int64_t count) {
  constexpr size_t kNamed = 8;
  std::string text;
  for (size_t i = 0; i < batches.size() && i < kNamed; ++i) text += (i > 0 ? "; " : "") + batches[i]->where;
  const int64_t more = count - static_cast<int64_t>(kNamed);
  return more > 0 ? text + "; and " + std::to_string(more) + " more" : text;
}

}  // namespace

/// Applies run.nan_policy to a window whose update has not been made. True: make it all the same.
/// \throws NonFiniteError under `stop`, and when too many were skipped in a row.
bool Trainer::Impl::accept_non_finite(const Window& window, double loss) {
  const std::string what = std::isfinite(loss) ? "gradient norm" : "loss";
  const std::string batch = describe_batches(window.batches, window.micro_batches);
  const std::string replay = write_replay(window);
  Event event("non_finite");
  event.add("step", static_cast<int64_t>(counters.step + 1))
      .add("what", what)
      .add("loss", loss)
      .add("policy", settings.run.nan_policy)
      .add("batch", batch);
  if (!replay.empty()) event.add("replay", replay);
  parts.events->emit(std::move(event));
  if (settings.run.nan_policy == "continue") return true;
  if (settings.run.nan_policy == "skip") {
    skip_update("non_finite");
    return false;
  }
  const std::optional<std::string> spoiled = spoiled_weight();
  throw NonFiniteError(what + ": not finite at step " + std::to_string(counters.step + 1) + ", batch " + batch,
                       (spoiled ? "the update before had spoiled " + *spoiled + ", its step was not saved; "
                                : std::string("the weights of the last finite step are kept; ")) +
                           "`stc-host replay " + (replay.empty() ? settings.run.output_dir : replay) +
                           "` runs the batch again; lower optimizer.lr, set optimizer.grad_clip, or look at the batch");
}

/// The first parameter with a value that is not finite.
std::optional<std::string> Trainer::Impl::spoiled_weight() const {
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < trainable.size(); ++i) {
    // The largest magnitude is NaN where any value is; one pass over the memory, without a tensor of flags.
    const at::Tensor& values = trainable_tensors[i];
    if (values.numel() > 0 && !std::isfinite(at::linalg_vector_norm(values, kLargest).item<double>())) {
      return trainable[i]->name;
    }
  }
  return std::nullopt;
}

/// Drops the window: step, schedule, moments and counters stay, its data are consumed.
/// \throws NonFiniteError beyond precision.max_skipped_steps in a row.
void Trainer::Impl::skip_update(const std::string& reason) {
  step_begin = parts.loader->position();
  Event event("optimizer_step_skipped");
  event.add("step", static_cast<int64_t>(counters.step + 1)).add("reason", reason);
  parts.events->emit(std::move(event));
  if (++skips_in_a_row <= settings.precision.max_skipped_steps) return;
  const bool overflow = reason == "grad_scaler_overflow";
  throw NonFiniteError((overflow ? "precision: " : "run.nan_policy: skip, but ") + std::to_string(skips_in_a_row) +
                           (overflow ? " updates in a row overflowed" : " updates in a row were not finite") +
                           ", precision.max_skipped_steps is " + std::to_string(settings.precision.max_skipped_steps),
                       overflow
                           ? "train in bf16 or fp32, or lower optimizer.lr"
                           : "the weights may be damaged: resume from an earlier checkpoint with a lower optimizer.lr");
}

/// The folder of the record; empty when none was written.
std::string Trainer::Impl::write_replay(const Window& window) {
  // After an update that was made with `continue` on a device, the weights are no longer those of the window.
  if (deferred && settings.run.nan_policy == "continue") return {};
  if (window.micro_batches > static_cast<int64_t>(window.batches.size())) return {};  // too long to be kept
  // Of the windows tried for one step, the first tells most: later ones follow from the same weights.
  if (replays_written >= kMaxReplays || last_replay_step == counters.step) return {};
  ReplayRecord record;
  record.step = counters.step;
  record.run_id = parts.run_id;
  record.policy = settings.run.nan_policy;
  record.loss_scale = window.loss_scale;
  record.config = parts.config->redacted();
  record.grad_norm = window.grad_norm;
  for (size_t i = 0; i < window.batches.size(); ++i) {
    const double loss = window.losses[i].defined() ? window.losses[i].item<double>() : 0.0;
    record.micro_batches.push_back({window.batches[i], loss, window.dropout_keys[i]});
  }
  for (const ModelParameter& parameter : parts.model->parameters()) {
    record.weights.push_back(copy_to_host(parameter.name, to_tensor(parameter.tensor)));
  }
  for (const NamedHandle& buffer : parts.model->buffers()) {
    record.weights.push_back(copy_to_host(buffer.name, to_tensor(buffer.tensor)));
  }
  try {
    const std::string folder = write_replay_record(settings.run.output_dir, record);
    ++replays_written;
    last_replay_step = counters.step;
    return folder;
  } catch (const Error& error) {
    parts.events->log(STC_LOG_WARNING, std::string("replay record: ") + error.what());
    return {};
  }
}

}  // namespace stc::host
