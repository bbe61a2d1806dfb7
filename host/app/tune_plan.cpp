#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "host/app/median.hpp"
#include "host/app/tune.hpp"

namespace stc::host {
namespace {

TuneCandidate change_of(const std::string& key, const std::string& value) {
  return {{{key, value}}, key + ": " + value};
}

/// Other divisors of the target: doubles of the current one first, then halves, each as far as it goes.
std::vector<TuneCandidate> micro_batches(const TuneState& state) {
  std::vector<TuneCandidate> out;
  const auto add = [&](int64_t size) {
    if (size >= 1 && size <= state.target_batch && state.target_batch % size == 0 && size != state.micro_batch) {
      out.push_back(change_of("data.micro_batch_size", std::to_string(size)));
    }
  };
  for (int64_t size = state.micro_batch * 2; size <= state.target_batch; size *= 2) add(size);
  if (state.target_batch > state.micro_batch * 2) add(state.target_batch);
  for (int64_t size = state.micro_batch / 2; size >= 1; size /= 2) add(size);
  const auto same = [](const TuneCandidate& a, const TuneCandidate& b) { return a.text == b.text; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

std::vector<TuneCandidate> thread_counts(const TuneState& state) {
  std::vector<TuneCandidate> out;
  for (const int64_t threads : {state.cores, state.cores / 2, int64_t{1}}) {
    const TuneCandidate candidate = change_of("run.threads", std::to_string(threads));
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.text == candidate.text; });
    if (threads >= 1 && threads != state.threads && !known) out.push_back(candidate);
  }
  return out;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

}  // namespace

std::vector<TuneCandidate> candidates_of(Lever lever, const TuneState& state, std::string& why_not) {
  std::vector<TuneCandidate> out;
  constexpr double kFewData = 0.01;
  switch (lever) {
    case Lever::kMicroBatch:
      out = micro_batches(state);
      if (out.empty()) why_not = "micro-batch: data.target_batch_size has no other divisor to try";
      break;
    case Lever::kThreads:
      if (state.device != "cpu") {
        why_not = "threads: the device does the work";
      } else {
        out = thread_counts(state);
        if (out.empty()) why_not = "threads: there is one core";
      }
      break;
    case Lever::kLoader:
      if (state.data_share < kFewData) {
        why_not = "loader: a step waits " + percent(state.data_share) + " of its time for data";
      } else {
        for (const int64_t workers : {1, 2, 4}) {
          if (workers != state.workers) out.push_back(change_of("data.num_workers", std::to_string(workers)));
        }
      }
      break;
    case Lever::kPrecision:
      if (state.precision == "fp32") {
        out.push_back(change_of("precision.mode", "bf16"));
      } else {
        why_not = "precision: " + state.precision + " is the file's own";
      }
      break;
    case Lever::kFusedOptimizer:
      if (state.fused_optimizer) {
        why_not = "fused optimizer: on wherever the optimizer has one";
      } else {
        out.push_back(change_of("optimizer.fused", "null"));
      }
      break;
    case Lever::kFastPath:
      if (state.fused_path) {
        why_not = "fast path: on";
      } else if (state.fast_path_off) {
        out.push_back(change_of("run.fast_path", "auto"));
      } else {
        why_not = "fast path: " + state.no_fused_path;
      }
      break;
    case Lever::kCheckpointing:
      if (state.over_memory && !state.checkpointing) {
        out.push_back(change_of("model.gradient_checkpointing", "true"));
      } else {
        why_not =
            state.checkpointing ? "gradient checkpointing: on in the file" : "gradient checkpointing: memory is enough";
      }
      break;
  }
  return out;
}

bool is_taken(const TuneResult& result, double most_distance, bool saves_memory, std::string& verdict) {
  if (result.failure) {
    verdict = "fails: " + *result.failure;
    return false;
  }
  if (!(result.distance <= most_distance)) {
    verdict = "the loss is too far from fp32";
    return false;
  }
  if (!result.fits) {
    verdict = "takes too much memory";
    return false;
  }
  if (saves_memory) {
    verdict = "taken for its memory";
    return true;
  }
  const double least = *std::min_element(result.gains.begin(), result.gains.end());
  if (median(result.gains) < kLeastGain || least <= 1.0) {
    verdict = "no gain outside the noise";
    return false;
  }
  verdict = "taken";
  return true;
}

double loss_distance(const std::vector<double>& losses, const std::vector<double>& baseline) {
  double most = 0;
  for (size_t i = 0; i < std::min(losses.size(), baseline.size()); ++i) {
    const double distance = std::abs(losses[i] - baseline[i]) / std::abs(baseline[i]);
    most = std::isnan(distance) ? std::numeric_limits<double>::infinity() : std::max(most, distance);
  }
  return most;
}

}  // namespace stc::host
