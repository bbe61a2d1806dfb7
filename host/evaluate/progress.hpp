/// \file
/// The best evaluation so far, and when to stop for want of a better one.
#pragma once

#include <cstdint>
#include <optional>

#include "host/config/settings.hpp"

namespace stc::host {

/// Follows the watched loss through a run. Plain arithmetic; state survives resumes exactly.
///
/// Two marks: the best is the lowest loss; early stop counts evaluations since the loss last fell
/// by more than min_delta below its own mark. A loss that is not finite improves nothing.
class Progress {
 public:
  explicit Progress(std::optional<EarlyStopSettings> early_stop) : early_stop_(early_stop) {}
  /// \param counts false: an evaluation out of turn, which early stop does not see.
  /// \returns whether this is the lowest loss so far.
  bool add(uint64_t step, double loss, bool counts = true);
  /// The patience is used up.
  bool stopped() const;
  std::optional<uint64_t> best_step() const { return best_step_; }
  std::optional<double> best_loss() const { return best_loss_; }

  /// {best_step, best_loss, mark, misses}, numbers or null.
  Value state() const;
  /// Null: nothing was evaluated yet. \throws CheckpointError.
  void restore(const Value& state);

 private:
  void count(double loss, bool finite);

  std::optional<EarlyStopSettings> early_stop_;
  std::optional<uint64_t> best_step_;
  std::optional<double> best_loss_;
  std::optional<double> mark_;  // the loss that has to be undercut by min_delta
  int64_t misses_ = 0;          // evaluations in a row that did not
};

}  // namespace stc::host
