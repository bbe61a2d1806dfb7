/// \file
/// Evaluation, samples and early stop of a run: what the trainer does between a step's record and
/// its checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/data/tokenizer.hpp"
#include "host/evaluate/evaluation.hpp"
#include "host/evaluate/progress.hpp"
#include "host/events/bus.hpp"
#include "host/train/ema.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/review.hpp"

namespace stc::host {

/// Borrowed; all outlive the review.
struct ReviewParts {
  const Settings* settings = nullptr;
  EventBus* events = nullptr;
  Optimizer* optimizer = nullptr;
  const Tokenizer* tokenizer = nullptr;  // null: no samples
  Ema* ema = nullptr;                    // null: no moving average
  Location prompts_at;                   // of logging.sample_prompts, for errors
  EvaluationParts evaluation;
};

/// Every run.eval_every steps and with the last one of the run: an event `eval` for each validation
/// set, with the weights and then with their moving average; an event `sample` for each prompt; the
/// watched loss is that of the first set, under the moving average when there is one, and decides
/// best.json and early stop. The one with the last step counts for early stop only when it is due
/// anyway, so that a run that is continued with a later target counts like one that had it from the
/// start. A signal breaks an evaluation off before its next batch or token;
/// nothing of it counts, and a resumed run makes it again.
class EvaluationReview : public StepReview {
 public:
  EvaluationReview(ReviewParts parts, std::vector<std::unique_ptr<ValidationSet>> sets);
  Outcome after_step(uint64_t step, bool last) override;
  bool owes(uint64_t step) const override;
  bool stopped() const override { return progress_.stopped(); }
  Value state() const override;
  void restore(const Value& state) override;

 private:
  bool due(uint64_t step) const;
  /// The watched loss when there is one. \returns false when the run was asked to end.
  bool look(uint64_t step, std::optional<double>& watched);
  bool evaluate_sets(uint64_t step, const char* weights, std::optional<double>& watched);
  bool draw_samples(uint64_t step);
  void emit_score(uint64_t step, const std::string& set, const char* weights, const Score& score, double seconds);

  ReviewParts parts_;
  std::vector<std::unique_ptr<ValidationSet>> sets_;
  std::vector<std::vector<int32_t>> prompts_;  // sample_prompts as ids
  Progress progress_;
  std::optional<uint64_t> evaluated_step_;  // of the last whole evaluation
};

}  // namespace stc::host
