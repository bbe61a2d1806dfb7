#include "host/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stc::host {

double schedule_factor(const SchedulerSettings& settings, int64_t completed) {
  const int64_t warmup = std::max<int64_t>(0, settings.warmup_steps);
  if (completed < warmup) {
    return std::max(1e-8, static_cast<double>(completed + 1) / static_cast<double>(warmup));
  }
  if (settings.name == "constant") return 1.0;
  const auto span = static_cast<double>(std::max<int64_t>(1, settings.max_steps - warmup));
  const double progress = std::clamp(static_cast<double>(completed - warmup) / span, 0.0, 1.0);
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return settings.min_lr_ratio + (1.0 - settings.min_lr_ratio) * cosine;
}

}  // namespace stc::host
