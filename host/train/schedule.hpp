/// \file
/// Learning-rate factors as a function of completed optimizer steps.
#pragma once

#include <cstdint>
#include <string>

#include "host/config/settings.hpp"

namespace stc::host {

/// Factor on the base rate for the update made after `completed` steps (0 for the first one).
///   completed < warmup:  max(1e-8, (completed + 1) / warmup)
///   constant:            1
///   cosine:              r + (1 - r) (1 + cos(pi p)) / 2, p = clamp((completed - warmup) / max(1, total - warmup), 0, 1)
/// Finite and in (0, 1] for every input; r = min_lr_ratio.
double schedule_factor(const SchedulerSettings& settings, int64_t completed);

}  // namespace stc::host
