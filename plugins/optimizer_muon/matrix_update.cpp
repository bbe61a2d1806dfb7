#include "matrix_update.hpp"

#include <algorithm>
#include <cmath>

#include <stc/stable/ops.hpp>

#include "host_passes.hpp"
#include "newton_schulz.hpp"

namespace stc::muon {
namespace {

using stable::Tensor;

/// The guard of the division by the Frobenius norm, as Speedtronic 2.0.0 has it.
constexpr double kNormGuard = 1e-7;
/// Elements that one task passes over; sums follow these borders, so that threads do not change the bits.
constexpr int64_t kTask = 32768;
/// Small matrices gain by being many in one product; large ones do not, and cost memory.
constexpr int64_t kBatchElements = int64_t{4} << 20;

double shape_scale(const Matrix& matrix) {
  return std::sqrt(std::max(1.0, static_cast<double>(matrix.rows) / static_cast<double>(matrix.cols)));
}

Tensor sum_over(const Tensor& x, int64_t dim) {
  return stable::call<"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                      "ScalarType? dtype=None) -> Tensor">(x, std::vector<int64_t>{dim}, true, std::nullopt);
}

double read_scalar(const Host& host, stc_tensor tensor) {
  return static_cast<double>(*static_cast<const float*>(stable::tensor_info(host, tensor).data));
}

Tensor sign(const Tensor& x) { return stable::call<"aten::sign(Tensor self) -> Tensor">(x); }

}  // namespace

Tensor normalized(const Tensor& u, double eps) {
  const Tensor rows = stable::div(u, stable::sqrt(stable::add(sum_over(stable::mul(u, u), -1), eps)));
  return stable::div(rows, stable::sqrt(stable::add(sum_over(stable::mul(rows, rows), -2), eps)));
}

void MatrixUpdate::step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                        const std::vector<Work>& works) {
  const stable::NoGradGuard no_grad;
  if (works.front().matrix->on_host && step.found_inf != nullptr && read_scalar(host_, step.found_inf) != 0) return;
  for (const Work& work : works) work.matrix->updates += 1;
  if (!works.front().matrix->plain) {
    for (const Work& work : works) step_composed(settings, groups[work.matrix->group], step, work);
    return;
  }
  const double factor = step.grad_factor_t != nullptr ? read_scalar(host_, step.grad_factor_t) : step.grad_factor;
  const int64_t batch = std::max<int64_t>(1, kBatchElements / works.front().matrix->numel());
  const auto total = static_cast<int64_t>(works.size());
  for (int64_t begin = 0; begin < total; begin += batch) {
    step_plain(settings, groups, step, factor, works.data() + begin, std::min(batch, total - begin));
  }
}

void MatrixUpdate::step_plain(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                              double grad_factor, const Work* works, int64_t count) {
  const int64_t size = works[0].matrix->numel();
  const int64_t tasks = (size + kTask - 1) / kTask;
  const auto factor = static_cast<float>(grad_factor);
  Tensor x = Tensor::empty({count, works[0].matrix->rows, works[0].matrix->cols});
  auto* direction = x.data<float>();
  std::vector<double> squares(static_cast<size_t>(count * tasks));
  const auto stretch = [&](int64_t task) { return std::min(kTask, size - (task % tasks) * kTask); };

  host_.parallel_for(count * tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const Work& work = works[t / tasks];
      const int64_t at = (t % tasks) * kTask;
      squares[static_cast<size_t>(t)] =
          momentum_pass(work.data + at, factor, static_cast<float>(settings.momentum),
                        work.matrix->momentum.data<float>() + at, direction + (t / tasks) * size + at, stretch(t));
    }
  });
  std::vector<float> inverse(static_cast<size_t>(count));
  for (int64_t m = 0; m < count; ++m) {
    double sum = 0.0;
    for (int64_t t = 0; t < tasks; ++t) sum += squares[static_cast<size_t>(m * tasks + t)];
    inverse[static_cast<size_t>(m)] = static_cast<float>(1.0 / (std::sqrt(sum) + kNormGuard));
  }
  host_.parallel_for(count * tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      scale_pass(direction + (t / tasks) * size + (t % tasks) * kTask, inverse[static_cast<size_t>(t / tasks)], stretch(t));
    }
  });

  Tensor u = newton_schulz(std::move(x), settings.ns_steps);
  if (settings.plus) u = normalized(u, settings.norm_eps);
  const auto* update = u.data<float>();
  host_.parallel_for(count * tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const Work& work = works[t / tasks];
      const Group& group = groups[work.matrix->group];
      const double rate = step.lr * group.lr_scale;
      const int64_t at = (t % tasks) * kTask;
      apply_pass(work.matrix->tensor.data<float>() + at, update + (t / tasks) * size + at, work.data + at, factor,
                 static_cast<float>(1 - rate * group.weight_decay),
                 static_cast<float>(rate * shape_scale(*work.matrix)), settings.cautious, stretch(t));
    }
  });
}

void MatrixUpdate::step_composed(const Settings& settings, const Group& group, const Step& step, const Work& work) {
  Matrix& matrix = *work.matrix;
  const Tensor w = stable::detach(matrix.tensor);
  const int32_t work_type = matrix.dtype == STC_DTYPE_FLOAT64 ? STC_DTYPE_FLOAT64 : STC_DTYPE_FLOAT32;
  const Tensor raw = stable::to(work.gradient, work_type);
  const Tensor g = step.grad_factor_t != nullptr
                       ? stable::mul(raw, stable::to(Tensor::share(step.grad_factor_t), work_type))
                       : stable::mul(raw, step.grad_factor);
  const Tensor b = stable::add(stable::mul(matrix.momentum, settings.momentum), g, 1 - settings.momentum);
  const Tensor q = stable::add(g, stable::sub(b, g), settings.momentum);
  const Tensor scaled = stable::div(q, stable::add(stable::vector_norm(q), kNormGuard));
  Tensor u = newton_schulz(stable::reshape(scaled, {1, matrix.rows, matrix.cols}), settings.ns_steps);
  if (settings.plus) u = normalized(u, settings.norm_eps);
  u = stable::reshape(u, {matrix.rows, matrix.cols});
  const double rate = step.lr * group.lr_scale;
  const Tensor wide = stable::to(w, work_type);
  Tensor next = stable::to(stable::add(stable::mul(wide, 1 - rate * group.weight_decay), u, -rate * shape_scale(matrix)),
                           matrix.dtype);
  if (settings.cautious) {
    const Tensor agreement = stable::mul(sign(stable::sub(w, next)), stable::to(sign(g), matrix.dtype));
    next = stable::where(stable::gt(agreement, 0), next, w);
  }
  const auto write = [&](const Tensor& to, const Tensor& value) {
    if (step.found_inf == nullptr) return stable::copy_(to, value);
    stable::copy_(to, stable::where(stable::gt(Tensor::share(step.found_inf), 0), to, value));
  };
  write(w, next);
  write(matrix.momentum, b);
}

}  // namespace stc::muon
