#include "host/train/gradient_norm.hpp"

#include <algorithm>
#include <cmath>

#include "host/services/services.hpp"

namespace stc::host {
namespace {

constexpr int64_t kBlock = 1024;       // values whose squares are summed in fp32, in 16 sums
constexpr int64_t kTask = 1 << 11;     // values; small, so that the threads get equal shares
constexpr int64_t kPerTask = 1 << 14;  // values worth the wake-up of another thread
constexpr int kLanes = 16;
/// Between these, the squares of a block have not left the range of fp32.
constexpr double kLeast = 1e-20, kMost = 1e38;

struct Task {
  const float* values;
  int64_t count;
  double squares = 0.0;
};

double exact_squares(const float* values, int64_t count) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}

double block_squares(const float* values, int64_t count) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane] * values[i + lane];
  }
  double sum = exact_squares(values + i, count - i);
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum > kLeast && sum < kMost ? sum : exact_squares(values, count);
}

void sum_squares(Task& task) {
  for (int64_t i = 0; i < task.count; i += kBlock) {
    task.squares += block_squares(task.values + i, std::min(kBlock, task.count - i));
  }
}

bool on_host(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.is_non_overlapping_and_dense();
}

}  // namespace

std::optional<double> host_gradient_norm(const std::vector<at::Tensor>& gradients) {
  std::vector<Task> tasks;
  int64_t total = 0;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (!on_host(gradient)) return std::nullopt;
    const float* values = gradient.const_data_ptr<float>();
    const int64_t count = gradient.numel();
    for (int64_t i = 0; i < count; i += kTask) tasks.push_back({values + i, std::min(kTask, count - i)});
    total += count;
  }
  const auto tasks_count = static_cast<int64_t>(tasks.size());
  const stc_host& host = process_host();
  host.parallel_for(
      host.ctx, tasks_count, std::max<int64_t>(1, tasks_count * kPerTask / std::max<int64_t>(1, total)),
      [](void* arg, int64_t begin, int64_t end) {
        auto& all = *static_cast<std::vector<Task>*>(arg);
        for (int64_t i = begin; i < end; ++i) sum_squares(all[static_cast<size_t>(i)]);
      },
      &tasks);
  double squares = 0.0;
  for (const Task& task : tasks) squares += task.squares;
  return std::sqrt(squares);
}

}  // namespace stc::host
