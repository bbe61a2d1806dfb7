/// \file
/// Learning-rate factors as a function of completed optimizer steps.
#pragma once

#include <cstdint>
#include <string>

#include "host/config/settings.hpp"

namespace stc::host {

/// Factor on the base rate for the update made after `completed` steps (0 for the first one).
/// With w = warmup_steps, n = completed - w, N = max(1, max_steps - w), p = clamp(n / N, 0, 1) and
/// r = min_lr_ratio:
///   completed < w:         max(1e-8, (completed + 1) / w)
///   constant:              1
///   cosine:                r + (1 - r) (1 + cos(pi p)) / 2
///   linear:                r + (1 - r) (1 - p)
///   inverse_sqrt:          sqrt(w' / (w' + n)), w' = max(1, w)   (arXiv:1706.03762, section 5.3)
///   wsd:                   r + (1 - r) min(1, (N - n) / d), d = decay_steps, at most N (arXiv:2404.06395)
///   cosine_with_restarts:  cosine of the fraction of p * cycles; r from max_steps on (arXiv:1608.03983)
/// Finite and in [0, 1] for every input; 0 only where r is 0.
double schedule_factor(const SchedulerSettings& settings, int64_t completed);

}  // namespace stc::host
