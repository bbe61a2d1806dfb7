/// \file
/// The loss of a model on a validation set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "host/evaluate/validation_set.hpp"
#include "host/train/model.hpp"
#include "host/train/precision.hpp"

namespace stc::host {

/// What one walk over a set gave.
struct Score {
  double loss = 0;                // nats, mean over all valid labels
  uint64_t tokens = 0;            // valid labels
  std::optional<uint64_t> bytes;  // of the text behind them
  double perplexity() const;      // exp(loss)
  /// loss * tokens / (ln 2 * bytes). nullopt without text.
  std::optional<double> bits_per_byte() const;
};

/// Borrowed; all outlive the calls.
struct EvaluationParts {
  Model* model = nullptr;
  PrecisionPlan plan;
  std::string device_name;
  int64_t capacity = 0;        // labels of a batch that has no labels field
  std::function<bool()> stop;  // true: the run is asked to end
};

/// Walks the set once, inside an EvaluationScope: forward under the run's autocast, the mean loss
/// of each batch weighed by its valid labels, summed in double. The result does not depend on the
/// batch size beyond rounding. Sync: on a device other than the CPU the sum is read once, at the
/// end. \returns nullopt when `stop` became true: checked before each batch. \throws DataError for
/// a text that changed since the start and cannot be read; ShapeError.
std::optional<Score> evaluate(const EvaluationParts& parts, ValidationSet& set);

}  // namespace stc::host
