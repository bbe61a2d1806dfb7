#include "host/evaluate/progress.hpp"

#include <cmath>

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

template <class T>
Value or_null(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

template <class T>
std::optional<T> maybe(const Value& state, const char* key) {
  const Value& value = state.at(key);
  if (value.is_null()) return std::nullopt;
  return value.get<T>();
}

}  // namespace

bool Progress::add(uint64_t step, double loss, bool counts) {
  const bool finite = std::isfinite(loss);
  if (counts) count(loss, finite);
  if (!finite || (best_loss_ && loss >= *best_loss_)) return false;
  best_loss_ = loss;
  best_step_ = step;
  return true;
}

void Progress::count(double loss, bool finite) {
  const double least_fall = early_stop_ ? early_stop_->min_delta : 0.0;
  if (finite && (!mark_ || *mark_ - loss > least_fall)) {
    mark_ = loss;
    misses_ = 0;
  } else {
    ++misses_;
  }
}

bool Progress::stopped() const { return early_stop_ && misses_ >= early_stop_->patience; }

Value Progress::state() const {
  return {{"best_step", or_null(best_step_)},
          {"best_loss", or_null(best_loss_)},
          {"mark", or_null(mark_)},
          {"misses", misses_}};
}

void Progress::restore(const Value& state) {
  if (state.is_null()) return;
  try {
    best_step_ = maybe<uint64_t>(state, "best_step");
    best_loss_ = maybe<double>(state, "best_loss");
    mark_ = maybe<double>(state, "mark");
    misses_ = state.at("misses").get<int64_t>();
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(std::string("state.json: evaluation.progress: ") + error.what());
  }
}

}  // namespace stc::host
