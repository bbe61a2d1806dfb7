/// \file
/// What happens between the record of a step and its checkpoint: evaluation, samples, early stop.
/// The trainer knows this interface only; host/evaluate fills it.
#pragma once

#include <cstdint>

#include "host/config/config.hpp"

namespace stc::host {

/// [train-thread]
class StepReview {
 public:
  struct Outcome {
    bool best = false;  // the best validation loss of the run so far: worth a checkpoint
    bool stop = false;  // early stop ends the run with this step
  };
  virtual ~StepReview() = default;
  /// Looks at the model after `step` completed optimizer steps, when that is due or the run ends
  /// with it. Weights, buffers and random states are as before when it returns.
  virtual Outcome after_step(uint64_t step, bool last) = 0;
  /// Whether after_step at this step is due and was not made: a signal broke it off, or evaluation
  /// was turned on at a resume.
  virtual bool owes(uint64_t step) const = 0;
  /// Whether early stop had ended the run that this one continues.
  virtual bool stopped() const = 0;
  /// Into state.json of a checkpoint and back. \throws CheckpointError.
  virtual Value state() const = 0;
  virtual void restore(const Value& state) = 0;
};

}  // namespace stc::host
