#include "host/evaluate/review.hpp"

#include <utility>

#include "host/errors/error.hpp"
#include "host/evaluate/evaluation_scope.hpp"
#include "host/generate/sampler.hpp"
#include "host/train/autocast.hpp"
#include "host/train/dropout_key.hpp"

namespace stc::host {
namespace {

constexpr int64_t kSampleTokens = 64;

/// A stream of its own for each step and prompt, apart from all others of the run.
uint64_t sample_seed(uint64_t run_seed, uint64_t step, uint64_t prompt) {
  constexpr uint64_t kSamples = 0x73616d706c657300u;
  return mix64(mix64(mix64(run_seed ^ kSamples) ^ step) ^ prompt);
}

}  // namespace

EvaluationReview::EvaluationReview(ReviewParts parts, std::vector<std::unique_ptr<ValidationSet>> sets)
    : parts_(std::move(parts)), sets_(std::move(sets)), progress_(parts_.settings->evaluation.early_stop) {
  const std::vector<std::string>& prompts = parts_.settings->evaluation.sample_prompts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string key = "logging.sample_prompts[" + std::to_string(i) + "]";
    if (parts_.tokenizer == nullptr) {
      throw ConfigError(key + ": dataset " + parts_.settings->data.plugin + " has no text, so there is no tokenizer",
                        "remove logging.sample_prompts, or train on text", parts_.prompts_at);
    }
    prompts_.emplace_back();
    parts_.tokenizer->encode(prompts[i], prompts_.back());
    if (prompts_.back().empty()) {
      throw ConfigError(key + ": got \"" + prompts[i] + "\", expected at least one token of text", {},
                        parts_.prompts_at);
    }
  }
}

bool EvaluationReview::due(uint64_t step) const {
  const std::optional<int64_t> every = parts_.settings->evaluation.every_steps;
  return every && step % static_cast<uint64_t>(*every) == 0;
}

bool EvaluationReview::owes(uint64_t step) const { return due(step) && evaluated_step_ != step; }

StepReview::Outcome EvaluationReview::after_step(uint64_t step, bool last) {
  Outcome outcome;
  if (!due(step) && !last) return outcome;
  std::optional<double> watched;
  if (!look(step, watched)) return outcome;
  evaluated_step_ = step;
  if (!watched) return outcome;
  outcome.best = progress_.add(step, *watched, due(step));
  outcome.stop = progress_.stopped();
  if (outcome.stop) {
    const auto best_step = progress_.best_step();
    const auto best_loss = progress_.best_loss();
    Event event("early_stop");
    event.add("step", static_cast<int64_t>(step))
        .add("best_step", best_step ? FieldValue(static_cast<int64_t>(*best_step)) : FieldValue())
        .add("best_loss", best_loss ? FieldValue(*best_loss) : FieldValue());
    parts_.events->emit(std::move(event));
  }
  return outcome;
}

bool EvaluationReview::look(uint64_t step, std::optional<double>& watched) {
  Model& model = *parts_.evaluation.model;
  EvaluationScope scope(model, *parts_.optimizer, at::Device(parts_.evaluation.device_name));
  bool whole = evaluate_sets(step, "model", watched);
  if (whole && parts_.ema != nullptr) {
    const SwappedWeights swapped(*parts_.ema, model);
    whole = evaluate_sets(step, "ema", watched) && draw_samples(step);
  } else if (whole) {
    whole = draw_samples(step);
  }
  scope.leave();
  return whole;
}

bool EvaluationReview::evaluate_sets(uint64_t step, const char* weights, std::optional<double>& watched) {
  watched.reset();
  for (const auto& set : sets_) {
    const double begin_s = parts_.events->elapsed_s();
    try {
      const std::optional<Score> score = evaluate(parts_.evaluation, *set);
      if (!score) return false;
      emit_score(step, set->name(), weights, *score, parts_.events->elapsed_s() - begin_s);
      if (set == sets_.front()) watched = score->loss;
    } catch (const Cancelled&) {
      return false;
    } catch (const DataError& error) {  // the text was there when the run began
      parts_.events->log(STC_LOG_WARNING, "evaluation of " + set->name() + " at step " + std::to_string(step) +
                                              " is left out: " + error.what());
    }
  }
  return true;
}

void EvaluationReview::emit_score(uint64_t step, const std::string& set, const char* weights, const Score& score,
                                  double seconds) {
  Event event("eval");
  event.add("step", static_cast<int64_t>(step))
      .add("set", set)
      .add("weights", weights)
      .add("loss", score.loss)
      .add("perplexity", score.perplexity());
  if (const auto bits = score.bits_per_byte()) event.add("bits_per_byte", *bits);
  event.add("tokens", static_cast<int64_t>(score.tokens)).add("eval_s", seconds);
  parts_.events->emit(std::move(event));
}

bool EvaluationReview::draw_samples(uint64_t step) {
  const EvaluationParts& evaluation = parts_.evaluation;
  const Settings& settings = *parts_.settings;
  SamplerOptions options;
  options.max_tokens = kSampleTokens;
  options.block_size = settings.data.block_size;
  options.vocabulary = parts_.tokenizer != nullptr ? parts_.tokenizer->size() : 0;
  for (size_t i = 0; i < prompts_.size(); ++i) {
    options.seed = sample_seed(settings.run.seed, step, i);
    std::vector<int32_t> drawn;
    try {
      const AutocastGuard autocast(evaluation.plan, at::Device(evaluation.device_name));
      sample(*evaluation.model, prompts_[i], options, [&](int32_t id) {
        drawn.push_back(id);
        if (evaluation.stop()) throw Cancelled("sampling was interrupted");
      });
    } catch (const Cancelled&) {
      return false;
    } catch (const TrainError& error) {  // a model without logits: not worth the end of a run
      parts_.events->log(STC_LOG_WARNING, std::string("logging.sample_prompts: no more samples: ") + error.what());
      prompts_.clear();
      return true;
    }
    Event event("sample");
    event.add("step", static_cast<int64_t>(step))
        .add("prompt", settings.evaluation.sample_prompts[i])
        .add("text", parts_.tokenizer->decode(drawn));
    parts_.events->emit(std::move(event));
  }
  return true;
}

Value EvaluationReview::state() const {
  return {{"step", evaluated_step_ ? Value(*evaluated_step_) : Value()}, {"progress", progress_.state()}};
}

void EvaluationReview::restore(const Value& state) {
  if (state.is_null()) return;
  try {
    const Value& step = state.at("step");
    evaluated_step_ = step.is_null() ? std::nullopt : std::optional(step.get<uint64_t>());
    progress_.restore(state.at("progress"));
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(std::string("state.json: evaluation: ") + error.what());
  }
}

}  // namespace stc::host
