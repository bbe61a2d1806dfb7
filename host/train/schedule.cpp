#include "host/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stc::host {
namespace {

/// From 1 at progress 0 to `floor` at progress 1.
double between(double floor, double share) { return floor + (1.0 - floor) * share; }

double half_cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }

/// Steps of the decay at the end of a wsd schedule: a tenth of what follows warm-up unless said.
int64_t decay_steps(const SchedulerSettings& settings, int64_t span) {
  const int64_t wish = settings.decay_steps.value_or(std::max<int64_t>(1, span / 10));
  return std::min(wish, span);
}

}  // namespace

double schedule_factor(const SchedulerSettings& settings, int64_t completed) {
  const int64_t warmup = std::max<int64_t>(0, settings.warmup_steps);
  if (completed < warmup) {
    return std::max(1e-8, static_cast<double>(completed + 1) / static_cast<double>(warmup));
  }
  const std::string& name = settings.name;
  const int64_t after = completed - warmup;
  if (name == "constant") return 1.0;
  if (name == "inverse_sqrt") {
    const auto first = static_cast<double>(std::max<int64_t>(1, warmup));
    return std::sqrt(first / (first + static_cast<double>(after)));
  }
  const int64_t span = std::max<int64_t>(1, settings.max_steps - warmup);
  const double progress = std::clamp(static_cast<double>(after) / static_cast<double>(span), 0.0, 1.0);
  const double floor = settings.min_lr_ratio;
  if (name == "linear") return between(floor, 1.0 - progress);
  if (name == "wsd") {
    const int64_t decay = decay_steps(settings, span);
    const auto left = static_cast<double>(std::max<int64_t>(0, span - after));
    return between(floor, std::min(1.0, left / static_cast<double>(decay)));
  }
  if (name == "cosine_with_restarts" && progress < 1.0) {
    const double cycle = progress * static_cast<double>(settings.cycles.value_or(1));
    return between(floor, half_cosine(cycle - std::floor(cycle)));
  }
  return between(floor, half_cosine(progress));
}

}  // namespace stc::host
