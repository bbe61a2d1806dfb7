/// \file
/// The events that the host reports to sinks: every name and field, declared once. Help, reference pages and
/// tests are made from this table. Names, fields and types are frozen; new fields and events are added at the
/// end. Plugins report events of their own besides these, and models add scalars of their own to train_step.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace stc::events {

enum class Type { kBool, kInt, kFloat, kText };

/// When a field is there.
enum class Presence {
  kAlways,    // never null
  kNullable,  // always there, may be null
  kOptional,  // left out when there is nothing to say
};

struct Field {
  std::string_view name;
  Type type;
  Presence presence;
  std::string_view doc;
};

struct Declaration {
  std::string_view name;
  std::string_view doc;
  std::span<const Field> fields;
};

/// Added by the host to every event that does not bring its own.
inline constexpr Field kElapsed{"elapsed_s", Type::kFloat, Presence::kAlways,
                                "seconds since the events of this process began; continues nothing on resume"};

inline constexpr std::array kTrainStart{
    Field{"start_step", Type::kInt, Presence::kAlways, "optimizer steps done before, 0 unless resumed"},
    Field{"target_step", Type::kInt, Presence::kAlways, "optimizer step at which the run ends"},
    Field{"device", Type::kText, Presence::kAlways, "cpu, cuda:0, ..."},
    Field{"precision", Type::kText, Presence::kAlways, "dtype of matrix products: fp32, bf16, fp16"},
    Field{"accumulation_steps", Type::kInt, Presence::kAlways, "micro-batches of one optimizer step"},
    Field{"parameters", Type::kInt, Presence::kAlways, "numbers in the model's parameters, tied ones once"},
    Field{"shape_alignment", Type::kInt, Presence::kNullable, "multiple that shapes are checked against"},
    Field{"shape_warning_count", Type::kInt, Presence::kAlways, "shapes that are no multiple of it"},
    Field{"ooo_backprop", Type::kText, Presence::kNullable, "out-of-order backprop; null: not asked for"},
    Field{"run_id", Type::kText, Presence::kOptional, "identity of the run, kept on resume"},
    Field{"threads", Type::kInt, Presence::kOptional, "threads of the CPU side"},
    Field{"dataset", Type::kText, Presence::kOptional, "dataset plugin"},
    Field{"optimizer", Type::kText, Presence::kOptional, "optimizer plugin"},
    Field{"path", Type::kText, Presence::kOptional, "how gradients are made: autograd or fused"},
    Field{"overrides", Type::kText, Presence::kOptional, "keys given on the command line"},
    Field{"routing", Type::kText, Presence::kOptional, "updates, each with its tensors and parameters"},
};

inline constexpr std::array kTrainStep{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer steps done, from 1"},
    Field{"loss", Type::kFloat, Presence::kAlways, "mean over the step's valid labels"},
    Field{"lr", Type::kFloat, Presence::kAlways, "learning rate that made this step"},
    Field{"steps_per_sec", Type::kFloat, Presence::kAlways, "mean since training began in this process"},
    Field{"samples_per_sec", Type::kFloat, Presence::kAlways, "the same for rows"},
    Field{"tokens_per_sec", Type::kFloat, Presence::kAlways, "the same for tokens"},
    Field{"samples", Type::kInt, Presence::kAlways, "rows so far, continued on resume"},
    Field{"tokens", Type::kInt, Presence::kAlways, "tokens so far, continued on resume"},
    Field{"micro_batches", Type::kInt, Presence::kAlways, "micro-batches of this step"},
    Field{"memory_bytes", Type::kInt, Presence::kOptional, "device memory in use, where the backend tells"},
    Field{"recent_tokens_per_sec", Type::kFloat, Presence::kOptional, "mean over the last 20 steps"},
    Field{"grad_norm", Type::kFloat, Presence::kOptional, "global L2 norm before clipping, with grad_clip"},
    Field{"lr_next", Type::kFloat, Presence::kOptional, "learning rate of the next step"},
    Field{"data_s", Type::kFloat, Presence::kOptional, "seconds since the last record that went into waiting for data"},
    Field{"forward_s", Type::kFloat, Presence::kOptional, "the same for the forward; the whole of a fused pass"},
    Field{"backward_s", Type::kFloat, Presence::kOptional, "the same for the backward"},
    Field{"optimizer_s", Type::kFloat, Presence::kOptional, "the same for clipping and the update"},
    Field{"sync_s", Type::kFloat, Presence::kOptional, "the same for meeting other nodes"},
    Field{"evaluation_s", Type::kFloat, Presence::kOptional, "the same for validation and samples"},
    Field{"checkpoint_s", Type::kFloat, Presence::kOptional, "the same for the copies of checkpoints"},
    Field{"logging_s", Type::kFloat, Presence::kOptional, "the same for records like this one"},
    Field{"other_s", Type::kFloat, Presence::kOptional, "the rest; all nine add up to the time since the last record"},
};

inline constexpr std::array kTrainEnd{
    Field{"steps", Type::kInt, Presence::kAlways, "optimizer steps done, earlier processes included"},
    Field{"elapsed_s", Type::kFloat, Presence::kAlways, "seconds since the training loop began"},
    Field{"loss", Type::kFloat, Presence::kNullable, "of the last step; null: no step was made"},
    Field{"reason", Type::kText, Presence::kOptional, "target, signal, early_stop or max_time"},
};

inline constexpr std::array kCheckpoint{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer steps that it holds"},
    Field{"path", Type::kText, Presence::kAlways, "its folder"},
};

inline constexpr std::array kCheckpointFailed{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer steps that it would hold"},
    Field{"path", Type::kText, Presence::kAlways, "its folder"},
    Field{"error", Type::kText, Presence::kAlways, "why it could not be written"},
};

inline constexpr std::array kCompile{
    Field{"enabled", Type::kBool, Presence::kAlways, "whether the model's fused pass is in use"},
    Field{"reason", Type::kText, Presence::kOptional, "why not"},
};

inline constexpr std::array kOptimizerStepSkipped{
    Field{"step", Type::kInt, Presence::kAlways, "the step that was not made"},
    Field{"reason", Type::kText, Presence::kAlways, "grad_scaler_overflow or non_finite"},
};

inline constexpr std::array kNonFinite{
    Field{"step", Type::kInt, Presence::kAlways, "the step under way"},
    Field{"what", Type::kText, Presence::kAlways, "loss or gradient norm"},
    Field{"loss", Type::kFloat, Presence::kAlways, "of the window"},
    Field{"policy", Type::kText, Presence::kAlways, "run.nan_policy: stop, skip or continue"},
    Field{"batch", Type::kText, Presence::kAlways, "file and samples of each micro-batch"},
    Field{"replay", Type::kText, Presence::kOptional, "folder that stc-host replay runs again"},
};

inline constexpr std::array kOuterStep{
    Field{"outer_step", Type::kInt, Presence::kAlways, "outer steps done"},
    Field{"deltas_found", Type::kInt, Presence::kAlways, "deltas at the meeting place"},
    Field{"deltas_included", Type::kInt, Presence::kAlways, "deltas of this outer step"},
};

inline constexpr std::array kDeltaUploadQueued{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step of the delta"},
    Field{"base_outer_step", Type::kInt, Presence::kAlways, "outer step that it starts from"},
};

inline constexpr std::array kDeltaUploaded{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step of the delta"},
};

inline constexpr std::array kDeltaUploadSkipped{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step of the delta"},
    Field{"reason", Type::kText, Presence::kAlways, "upload_in_flight or queue_full"},
};

inline constexpr std::array kDeltaUploadFailed{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step of the delta"},
    Field{"error", Type::kText, Presence::kAlways, "why"},
};

inline constexpr std::array kDeltaUploadStale{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step of the delta"},
    Field{"generation", Type::kInt, Presence::kAlways, "generation that it belongs to"},
};

inline constexpr std::array kShapeProfile{
    Field{"device_type", Type::kText, Presence::kAlways, "cpu, cuda, mps"},
    Field{"precision", Type::kText, Presence::kAlways, "dtype of matrix products"},
    Field{"alignment", Type::kInt, Presence::kAlways, "multiple that shapes are checked against"},
    Field{"warning_count", Type::kInt, Presence::kAlways, "shapes that are no multiple of it"},
};

inline constexpr std::array kShapeWarning{
    Field{"code", Type::kText, Presence::kAlways, "kind of shape: batch_alignment, model_alignment, ..."},
    Field{"field", Type::kText, Presence::kAlways, "key or module at fault"},
    Field{"value", Type::kInt, Presence::kAlways, "its size"},
    Field{"suggested", Type::kInt, Presence::kNullable, "the next aligned size"},
    Field{"alignment", Type::kInt, Presence::kAlways, "multiple that it was checked against"},
    Field{"reason", Type::kText, Presence::kAlways, "what it costs"},
};

inline constexpr std::array kOooBackprop{
    Field{"enabled", Type::kBool, Presence::kAlways, "whether stages run on streams of their own"},
    Field{"reason", Type::kText, Presence::kOptional, "why not"},
    Field{"streams", Type::kInt, Presence::kOptional, "streams in use"},
    Field{"stages", Type::kInt, Presence::kOptional, "stages found"},
};

inline constexpr std::array kEval{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer steps done"},
    Field{"set", Type::kText, Presence::kAlways, "name in data.validation_path; validation for a single path"},
    Field{"weights", Type::kText, Presence::kAlways, "model, or ema: the moving average"},
    Field{"loss", Type::kFloat, Presence::kAlways, "mean over the set's valid labels, in nats"},
    Field{"perplexity", Type::kFloat, Presence::kAlways, "exp(loss)"},
    Field{"bits_per_byte", Type::kFloat, Presence::kOptional, "of the text behind the labels, where there is text"},
    Field{"tokens", Type::kInt, Presence::kAlways, "valid labels of the set"},
    Field{"eval_s", Type::kFloat, Presence::kAlways, "seconds that this evaluation took"},
};

inline constexpr std::array kSample{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer steps done"},
    Field{"prompt", Type::kText, Presence::kAlways, "entry of logging.sample_prompts"},
    Field{"text", Type::kText, Presence::kAlways, "how the model continues it"},
};

inline constexpr std::array kEarlyStop{
    Field{"step", Type::kInt, Presence::kAlways, "optimizer step that the run ends with"},
    Field{"best_step", Type::kInt, Presence::kNullable, "step of the lowest loss; null: none was finite"},
    Field{"best_loss", Type::kFloat, Presence::kNullable, "that loss"},
};

/// All of them, in the order of the reference page.
inline constexpr std::array kAll{
    Declaration{"train_start", "training begins", kTrainStart},
    Declaration{"train_step", "an optimizer step; every logging.every_steps", kTrainStep},
    Declaration{"checkpoint", "a checkpoint is on the disk", kCheckpoint},
    Declaration{"checkpoint_failed", "a checkpoint could not be written", kCheckpointFailed},
    Declaration{"train_end", "training has ended", kTrainEnd},
    Declaration{"compile", "the fused pass is used, or why not", kCompile},
    Declaration{"optimizer_step_skipped", "a gradient overflowed or was not finite; no update", kOptimizerStepSkipped},
    Declaration{"outer_step", "the master merged, or looked for, deltas", kOuterStep},
    Declaration{"delta_upload_queued", "a delta waits for its upload", kDeltaUploadQueued},
    Declaration{"delta_uploaded", "a delta is at the meeting place", kDeltaUploaded},
    Declaration{"delta_upload_skipped", "a delta was dropped", kDeltaUploadSkipped},
    Declaration{"delta_upload_failed", "a delta could not be uploaded", kDeltaUploadFailed},
    Declaration{"delta_upload_stale", "a delta came too late", kDeltaUploadStale},
    Declaration{"shape_profile", "what shapes were checked against", kShapeProfile},
    Declaration{"shape_warning", "a shape that wastes hardware", kShapeWarning},
    Declaration{"ooo_backprop", "out-of-order backprop is used, or why not", kOooBackprop},
    Declaration{"non_finite", "a loss or gradient norm is NaN or infinite", kNonFinite},
    Declaration{"eval", "a validation set was evaluated", kEval},
    Declaration{"sample", "the model continued a prompt", kSample},
    Declaration{"early_stop", "evaluations stopped improving, the run ends", kEarlyStop},
};

constexpr const Declaration* find(std::string_view name) {
  for (const Declaration& declaration : kAll) {
    if (declaration.name == name) return &declaration;
  }
  return nullptr;
}

}  // namespace stc::events
