/// \file
/// Steps, samples and tokens per second of this process, from its start and over a sliding window.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace stc::host {

/// Counts since the process began training, so that a resumed run shows its own speed.
class RateMeter {
 public:
  using Clock = std::chrono::steady_clock;
  struct Rates {
    double steps_per_sec = 0, samples_per_sec = 0, tokens_per_sec = 0;
    double recent_tokens_per_sec = 0;  // over the last 20 steps
  };
  void start(Clock::time_point now) {
    begin_ = now;
    marks_.clear();
    marks_.push_back({now, 0});
  }
  void add(Clock::time_point now, int64_t samples, int64_t tokens) {
    steps_ += 1;
    samples_ += samples;
    tokens_ += tokens;
    marks_.push_back({now, tokens_});
    if (marks_.size() > kWindow + 1) marks_.pop_front();
    last_ = now;
  }
  /// Time that training stood still for something else does not count.
  void exclude(Clock::duration pause) {
    begin_ += pause;
    last_ += pause;
    for (auto& mark : marks_) mark.first += pause;
  }
  Rates rates() const {
    const double elapsed = seconds(begin_, last_);
    Rates result{double(steps_) / elapsed, double(samples_) / elapsed, double(tokens_) / elapsed, 0};
    const double recent = seconds(marks_.front().first, marks_.back().first);
    result.recent_tokens_per_sec = double(marks_.back().second - marks_.front().second) / recent;
    return result;
  }

 private:
  static constexpr size_t kWindow = 20;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    const double s = std::chrono::duration<double>(to - from).count();
    return s > 1e-9 ? s : 1e-9;
  }
  Clock::time_point begin_{}, last_{};
  int64_t steps_ = 0, samples_ = 0, tokens_ = 0;
  std::deque<std::pair<Clock::time_point, int64_t>> marks_;
};

}  // namespace stc::host
