#include "device_update.hpp"

#include <map>
#include <tuple>
#include <utility>

#include <stc/stable/update.hpp>

namespace stc::muon {
namespace {

using stable::Tensor;

/// (R,C) tensors -> (n,R,C)
Tensor stack(const std::vector<Tensor>& matrices, int64_t rows, int64_t cols) {
  std::vector<Tensor> layers;
  for (const Tensor& matrix : matrices) layers.push_back(stable::reshape(matrix, {1, rows, cols}));
  return stable::cat(layers);
}

/// x divided by sqrt(sum of squares along dim + eps)
Tensor normalised(const Tensor& x, int64_t dim, double eps) {
  const Tensor norm = stable::vector_norm(x, 2, stable::Sizes{dim}, true);
  return stable::mul(x, stable::rsqrt(stable::add(stable::mul(norm, norm), eps)));
}

}  // namespace

Tensor newton_schulz(const Tensor& x, int64_t steps) {
  const Tensor norm = stable::vector_norm(x, 2, stable::Sizes{1, 2}, true);
  Tensor out = stable::div(x, stable::add(norm, kGuard));
  for (int64_t s = 0; s < steps; ++s) {
    const Tensor a = stable::bmm(out, stable::transpose(out, 1, 2));
    const Tensor p = stable::baddbmm(a, a, a, kB, kC);
    out = stable::baddbmm(out, p, out, kA, 1.0);
  }
  return out;
}

void DeviceUpdate::bind(std::vector<Slot>& slots) {
  slots_ = &slots;
  const stable::NoGradGuard no_grad;
  for (Slot& slot : slots) {
    if (slot.on_host) continue;
    slot.device_momentum = stable::zeros_like(stable::to(stable::detach(slot.tensor), slot.state_dtype()));
  }
}

void DeviceUpdate::zero() {
  if (slots_ == nullptr) return;
  const stable::NoGradGuard no_grad;
  for (Slot& slot : *slots_) {
    if (!slot.on_host) stable::zero_(slot.device_momentum);
  }
}

void DeviceUpdate::step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                        const std::vector<uint32_t>& indices, const std::vector<Tensor>& gradients) {
  const stable::NoGradGuard no_grad;
  using Key = std::tuple<int32_t, int32_t, int64_t, int64_t>;
  std::map<Key, std::pair<std::vector<Slot*>, std::vector<Tensor>>> batches;
  for (size_t i = 0; i < indices.size(); ++i) {
    Slot& slot = (*slots_)[indices[i]];
    ++slot.updates;
    auto& [members, grads] = batches[{slot.device_index, slot.dtype, slot.rows(), slot.cols()}];
    members.push_back(&slot);
    grads.push_back(gradients[i]);
  }
  for (const auto& [key, batch] : batches) step_batch(settings, groups, step, batch.first, batch.second);
}

void DeviceUpdate::step_batch(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                              const std::vector<Slot*>& batch, const std::vector<Tensor>& gradients) {
  const Slot& first = *batch[0];
  const int64_t rows = first.rows(), cols = first.cols();
  std::vector<Tensor> momenta;
  for (const Slot* slot : batch) momenta.push_back(slot->device_momentum);
  const Tensor g = stable::scaled_gradient(stack(gradients, rows, cols), step, first.state_dtype());
  const Tensor m = stable::add(stable::mul(stack(momenta, rows, cols), settings.momentum), g, 1 - settings.momentum);
  const Tensor q = settings.nesterov ? stable::add(g, stable::sub(m, g), settings.momentum) : m;
  Tensor u = first.transposed() ? stable::transpose(newton_schulz(stable::transpose(q, 1, 2), settings.ns_steps), 1, 2)
                                : newton_schulz(q, settings.ns_steps);
  if (settings.plus) u = normalised(normalised(u, 2, settings.norm_eps), 1, settings.norm_eps);
  for (size_t i = 0; i < batch.size(); ++i) {
    const Slot& slot = *batch[i];
    const Group& group = groups[slot.group];
    const double rate = step.lr * group.lr_scale;
    const auto layer = [&](const Tensor& x) {
      return stable::reshape(stable::narrow(x, 0, static_cast<int64_t>(i), 1), {rows, cols});
    };
    const Tensor old = stable::to(slot.tensor, slot.state_dtype());
    Tensor next = stable::to(
        stable::add(stable::mul(old, 1 - rate * group.weight_decay), layer(u), -rate * slot.rate_scale()), slot.dtype);
    if (settings.cautious) {
      next = stable::where(stable::same_sign(stable::sub(slot.tensor, next), layer(g)), next, slot.tensor);
    }
    stable::write(slot.tensor, next, step);
    stable::write(slot.device_momentum, layer(m), step);
  }
}

}  // namespace stc::muon
