#include "device_update.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <stc/stable/ops.hpp>
#include <stc/stable/update.hpp>

namespace stc::adamw {
namespace {

using stable::Tensor;

/// LibTorch's own, private operator: one without it, or with another of that name, takes the composed update.
constexpr stable::detail::Text kFused =
    "aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
    "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, "
    "float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, "
    "Tensor? found_inf=None) -> ()";

/// A 0-d fp32 tensor on the device of `like`.
Tensor scalar_like(const Tensor& like, double value) {
  return stable::to(stable::full(like, {}, value), STC_DTYPE_FLOAT32);
}

}  // namespace

void DeviceUpdate::bind(std::vector<Slot>& slots) {
  slots_ = &slots;
  const stable::NoGradGuard no_grad;
  for (Slot& slot : slots) {
    if (slot.on_host) continue;
    slot.device_exp_avg = stable::zeros_like(stable::detach(slot.tensor));
    slot.device_exp_avg_sq = stable::zeros_like(stable::detach(slot.tensor));
  }
}

bool DeviceUpdate::can_fuse(const Host& host, bool demanded) const {
  std::string reason;
  if (!stable::has_operator<kFused>(host)) reason = "this LibTorch has no operator _fused_adamw_ as it is called here";
  const stable::NoGradGuard no_grad;
  std::set<std::tuple<int32_t, int32_t, int32_t>> tried;
  for (const Slot& slot : *slots_) {
    if (slot.on_host || !reason.empty()) continue;
    if (!tried.insert({slot.device_type, slot.device_index, slot.dtype}).second) continue;
    try {
      const std::vector<Tensor> p{stable::full(slot.tensor, {1}, 0)}, g{stable::full(slot.tensor, {1}, 0)};
      const std::vector<Tensor> m{stable::full(slot.tensor, {1}, 0)}, v{stable::full(slot.tensor, {1}, 0)};
      stable::call_optional<kFused>(p, g, m, v, std::vector<Tensor>(), std::vector<Tensor>{scalar_like(slot.tensor, 1)},
                                    1e-3, 0.9, 0.95, 0.0, 1e-8, false, false, Tensor(), Tensor());
    } catch (const Fault& fault) {
      reason = fault.what();
      reason.resize(std::min(reason.find('\n'), reason.size()));
    }
  }
  if (reason.empty()) return true;
  host.log(demanded ? STC_LOG_WARNING : STC_LOG_DEBUG,
           "fused: the device has no fused update, the plain one is used: " + reason);
  return false;
}

void DeviceUpdate::zero() {
  if (slots_ == nullptr) return;
  const stable::NoGradGuard no_grad;
  for (Slot& slot : *slots_) {
    if (slot.on_host) continue;
    stable::zero_(slot.device_exp_avg);
    stable::zero_(slot.device_exp_avg_sq);
  }
}

void DeviceUpdate::copy_state(Slot& slot, const Tensor& exp_avg, const Tensor& exp_avg_sq) {
  stable::copy_(slot.device_exp_avg, exp_avg);
  stable::copy_(slot.device_exp_avg_sq, exp_avg_sq);
}

void DeviceUpdate::step(const Settings& settings, const std::vector<Group>& groups, const Step& step,
                        const std::vector<uint32_t>& indices, const std::vector<Tensor>& gradients) {
  const stable::NoGradGuard no_grad;
  // The fused operator takes one rate, one decay and one type a call.
  std::map<std::pair<std::pair<uint32_t, int64_t>, int32_t>, std::pair<std::vector<uint32_t>, std::vector<Tensor>>>
      calls;
  for (size_t i = 0; i < indices.size(); ++i) {
    Slot& slot = (*slots_)[indices[i]];
    const int64_t t = ++slot.updates;
    if (!settings.fused_on_device) {
      step_composed(settings, groups[slot.group], step, slot, gradients[i], t);
      continue;
    }
    auto& [members, grads] = calls[{{slot.group, t}, slot.dtype}];
    members.push_back(indices[i]);
    grads.push_back(gradients[i]);
  }
  for (const auto& [key, call] : calls) {
    step_fused(settings, groups[key.first.first], step, call.first, call.second, key.first.second);
  }
}

void DeviceUpdate::step_fused(const Settings& settings, const Group& group, const Step& step,
                              const std::vector<uint32_t>& indices, const std::vector<Tensor>& gradients, int64_t t) {
  std::vector<Tensor> parameters, exp_avgs, exp_avg_sqs, before;
  for (const uint32_t index : indices) {
    const Slot& slot = (*slots_)[index];
    parameters.push_back(slot.tensor);
    exp_avgs.push_back(slot.device_exp_avg);
    exp_avg_sqs.push_back(slot.device_exp_avg_sq);
    if (settings.cautious) before.push_back(stable::clone(slot.tensor));
  }
  const std::vector<Tensor> counts(indices.size(), scalar_like(parameters[0], static_cast<double>(t)));
  // The operator divides by grad_scale and leaves the gradient scaled.
  Tensor scale;
  if (step.grad_factor_t != nullptr) {
    const Tensor factor = Tensor::share(step.grad_factor_t);
    scale = stable::pow(factor, -1.0);
  } else if (step.grad_factor != 1.0) {
    scale = scalar_like(parameters[0], 1.0 / step.grad_factor);
  }
  const Tensor found_inf = step.found_inf != nullptr ? Tensor::share(step.found_inf) : Tensor();
  stable::call_optional<kFused>(parameters, gradients, exp_avgs, exp_avg_sqs, std::vector<Tensor>(), counts,
                                step.lr * group.lr_scale, settings.beta1, settings.beta2, group.weight_decay,
                                settings.eps, false, false, scale, found_inf);
  for (size_t i = 0; i < before.size(); ++i) {
    const Tensor keep = stable::same_sign(stable::sub(before[i], parameters[i]), gradients[i]);
    stable::copy_(parameters[i], stable::where(keep, parameters[i], before[i]));
  }
}

void DeviceUpdate::step_composed(const Settings& settings, const Group& group, const Step& step, Slot& slot,
                                 const Tensor& gradient, int64_t t) {
  const auto f = make_factors<double>(settings, step.lr * group.lr_scale, group.weight_decay, step.grad_factor, t);
  const Tensor g = stable::scaled_gradient(gradient, step, slot.dtype);
  const Tensor m = stable::add(stable::mul(slot.device_exp_avg, f.beta1), g, f.one_minus_beta1);
  const Tensor v = stable::addcmul(stable::mul(slot.device_exp_avg_sq, f.beta2), g, g, f.one_minus_beta2);
  const Tensor root = stable::add(stable::mul(stable::sqrt(v), f.root_scale), f.eps);
  Tensor p = stable::addcdiv(stable::mul(slot.tensor, f.decay), m, root, -f.step);
  if (settings.cautious) p = stable::where(stable::same_sign(stable::sub(slot.tensor, p), g), p, slot.tensor);
  stable::write(slot.tensor, p, step);
  stable::write(slot.device_exp_avg, m, step);
  stable::write(slot.device_exp_avg_sq, v, step);
}

}  // namespace stc::adamw
