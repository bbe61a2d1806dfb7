// What a checkpoint holds of a run, and how it comes back.

#include <ATen/core/grad_mode.h>

#include "host/train/ema.hpp"
#include "host/train/fingerprint.hpp"
#include "host/train/plugin_state.hpp"
#include "host/train/rng_state.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer_impl.hpp"
#include "host/train/weights.hpp"
#include "stc/version.hpp"

namespace stc::host {
namespace {

/// While it lives, the parameters are those to be saved, which need not be those that are trained.
class SaveMode {
 public:
  SaveMode(Optimizer& optimizer, Model& model) : optimizer_(optimizer), model_(model) { set(STC_MODE_SAVE); }
  ~SaveMode() { set(STC_MODE_TRAIN); }
  SaveMode(const SaveMode&) = delete;
  SaveMode& operator=(const SaveMode&) = delete;

 private:
  void set(int mode) {
    if (!optimizer_.has_modes()) return;
    optimizer_.set_mode(mode);
    model_.parameters_changed();
  }
  Optimizer& optimizer_;
  Model& model_;
};

}  // namespace

Value Trainer::Impl::fingerprints() const {
  Value value = Value::object();
  value["model"] = model_fingerprint(*parts.model);
  value["optimizer"] = optimizer_fingerprint(*parts.optimizer);
  value["data"] = parts.loader->fingerprint();
  value["run"] = {{"seed", settings.run.seed}, {"loss_average", settings.run.loss_average}};
  return value;
}

Snapshot Trainer::Impl::make_snapshot(const LoaderPosition& position, const at::Tensor& rng) {
  const at::NoGradGuard no_grad;
  const SaveMode save_mode(*parts.optimizer, *parts.model);
  Snapshot snapshot;
  snapshot.step = counters.step;
  snapshot.best = best;
  for (const ModelParameter& parameter : parts.model->parameters()) {
    snapshot.model.push_back(copies.take("model", parameter.name, to_tensor(parameter.tensor)));
    for (const std::string& alias : parameter.aliases) {
      snapshot.model_metadata["alias:" + alias] = parameter.name;
    }
  }
  for (const NamedHandle& buffer : parts.model->buffers()) {
    snapshot.model.push_back(copies.take("buffer", buffer.name, to_tensor(buffer.tensor)));
  }
  if (parts.ema != nullptr) snapshot.ema = parts.ema->copy(copies);
  StateCollector optimizer(&copies, "optimizer");
  parts.optimizer->state_save(optimizer.writer());
  snapshot.optimizer = optimizer.take_tensors();
  StateCollector scaler;
  parts.precision->state_save(scaler.writer());

  Value& state = snapshot.state;
  state = Value::object();
  state["version"] = STC_VERSION;
  state["run_id"] = parts.run_id;
  state["step"] = counters.step;
  state["samples"] = counters.samples;
  state["tokens"] = counters.tokens;
  state["micro_batches"] = counters.micro_batches;
  state["path"] = fused ? "fused" : "autograd";
  state["threads"] = parts.context->device.num_threads;
  state["device"] = parts.device_name;
  state["scheduler"] = {{"name", settings.scheduler.name}, {"completed", counters.step}};
  state["precision"] = scaler.as_value();
  state["optimizer"] = optimizer.bytes_as_value();
  state["rng"] = {{"cpu", rng_state_to_hex(rng)}};
  state["data"] = to_value(position);
  state["coordinator"] = nullptr;
  if (parts.review != nullptr) state["evaluation"] = parts.review->state();
  state["fingerprints"] = fingerprints();
  state["config"] = parts.config->redacted();
  return snapshot;
}

void Trainer::Impl::save(const LoaderPosition& position, const at::Tensor& rng) {
  const PhaseClock::Scope phase(phases, Phase::kCheckpoint);
  if (settings.run.nan_policy != "continue") {
    if (const std::optional<std::string> spoiled = spoiled_weight()) {
      throw NonFiniteError(
          "parameter " + *spoiled + ": not finite after the update of step " + std::to_string(counters.step),
          "the step was not saved, earlier checkpoints are kept; lower optimizer.lr or set optimizer.grad_clip");
    }
  }
  last_saved_step = counters.step;
  report_saves(parts.store->finish());  // its copies are free again
  parts.events->flush();                // a checkpoint is never ahead of the records
  parts.store->save(make_snapshot(position, rng));
}

void Trainer::Impl::save_last_step() {
  if (parts.store == nullptr) return;
  const bool stepped = counters.step > first_step;
  if (stepped && last_saved_step != counters.step) {
    // A window under way was dropped: the next process begins it again.
    const bool interrupted = parts.loader->position() != step_begin;
    save(step_begin, interrupted ? rng_at_step_begin : current_rng_state());
  }
  report_saves(parts.store->finish());
}

void Trainer::Impl::report_saves(std::vector<SaveResult> results) {
  for (SaveResult& result : results) {
    last_save_failed = !result.error.empty();
    last_save_error = result.path + ": " + result.error;
    Event event(last_save_failed ? "checkpoint_failed" : "checkpoint");
    event.add("step", static_cast<int64_t>(result.step)).add("path", result.path);
    if (last_save_failed) event.add("error", result.error);
    if (!result.warning.empty()) parts.events->log(STC_LOG_WARNING, result.warning);
    parts.events->emit(std::move(event));
  }
}

void Trainer::Impl::restore_ema(const LoadedCheckpoint& checkpoint) {
  if (parts.ema != nullptr && !checkpoint.ema.empty()) {
    parts.ema->load(checkpoint);
  } else if (parts.ema != nullptr) {
    parts.ema->restart();
    parts.events->log(STC_LOG_WARNING,
                      "ema: " + checkpoint.path + " holds no moving average, it begins at the weights");
  } else if (!checkpoint.ema.empty()) {
    parts.events->log(STC_LOG_INFO, "ema: null, the moving average of " + checkpoint.path + " is dropped");
  }
}

void Trainer::Impl::restore_optimizer(const LoadedCheckpoint& checkpoint) {
  const StateProvider provider(checkpoint.optimizer, checkpoint.state.value("optimizer", Value::object()));
  parts.optimizer->state_load(provider.reader());
  if (parts.optimizer->has_modes()) parts.model->parameters_changed();  // back at the weights that it trains
  const StateProvider scaler({}, checkpoint.state.value("precision", Value::object()));
  parts.precision->state_load(scaler.reader());
}

void Trainer::Impl::check_fingerprints(const LoadedCheckpoint& checkpoint,
                                       const std::vector<std::string>& allowed) const {
  std::vector<FingerprintDifference> differences =
      fingerprint_differences(checkpoint.state.value("fingerprints", Value::object()), fingerprints());
  for (const FingerprintDifference& accepted : take_allowed(differences, allowed)) {
    parts.events->log(STC_LOG_WARNING, "resume: accepted by --allow: " + accepted.text);
  }
  if (differences.empty()) return;
  std::string lines;
  for (const FingerprintDifference& difference : differences) lines += "\n    " + difference.text;
  throw CheckpointError(
      checkpoint.path + ": was made with other settings:" + lines,
      "run with the old settings, accept one with --allow " + differences.front().key +
          ", or start anew in another run.output_dir; step targets, learning rate, schedule, logging, "
          "checkpoint intervals, workers and batch sizes may change freely");
}

/// What rounds otherwise than before, so that the bits are not those of an unbroken run.
void Trainer::Impl::tell_other_rounding(const Value& state) const {
  std::string changes;
  const auto compare = [&](const char* what, const Value& before, const Value& now) {
    if (before.is_null() || before == now) return;
    changes +=
        (changes.empty() ? "" : ", ") + std::string(what) + " " + before.dump() + " before and " + now.dump() + " now";
  };
  compare("threads", state.value("threads", Value()), parts.context->device.num_threads);
  compare("path", state.value("path", Value()), fused ? "fused" : "autograd");
  compare("device", state.value("device", Value()), parts.device_name);
  if (changes.empty()) return;
  parts.events->log(STC_LOG_WARNING, "resume: " + changes + ": the same run goes on, but sums round otherwise");
}

void Trainer::restore(const LoadedCheckpoint& checkpoint, const std::vector<std::string>& allowed) {
  Impl& self = *impl_;
  const at::NoGradGuard no_grad;
  self.check_fingerprints(checkpoint, allowed);
  self.tell_other_rounding(checkpoint.state);
  load_weights(*self.parts.model, checkpoint);
  self.restore_optimizer(checkpoint);
  self.restore_ema(checkpoint);
  const Value& state = checkpoint.state;
  try {
    self.counters.step = state.at("step").get<uint64_t>();
    self.counters.samples = state.at("samples").get<uint64_t>();
    self.counters.tokens = state.at("tokens").get<uint64_t>();
    self.counters.micro_batches = state.at("micro_batches").get<uint64_t>();
    self.step_begin = position_from_value(state.at("data"));
    restore_rng_state(state.at("rng").at("cpu").get<std::string>());
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(checkpoint.path + "/state.json: " + error.what());
  }
  if (self.parts.review != nullptr) self.parts.review->restore(state.value("evaluation", Value()));
  self.parts.loader->seek(self.step_begin);
  self.last_saved_step = self.counters.step;
}

}  // namespace stc::host
