#include "host/train/ema.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/weights.hpp"

namespace stc::host {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread

bool is_direct(const at::Tensor& weights) {
  return weights.is_cpu() && weights.scalar_type() == at::kFloat && weights.is_contiguous();
}

}  // namespace

Ema::Ema(const EmaSettings& settings, const std::vector<ModelParameter>& parameters) : settings_(settings) {
  int64_t total = 0;
  for (const ModelParameter& parameter : parameters) {
    if (!parameter.trainable) continue;
    const at::Tensor& weights = to_tensor(parameter.tensor);
    parts_.push_back({parameter.name, weights, {}, {}, total});
    total += weights.numel();
    direct_ = direct_ && is_direct(weights);
  }
  const at::Device device = parts_.empty() ? at::Device(at::kCPU) : parts_.front().weights.device();
  packed_ = at::empty({total}, at::TensorOptions().dtype(at::kFloat).device(device));
  for (Part& part : parts_) {
    part.average = packed_.narrow(0, part.begin, part.weights.numel()).view(part.weights.sizes());
  }
  restart();
}

void Ema::restart() {
  const at::NoGradGuard no_grad;
  for (Part& part : parts_) part.average.copy_(part.weights);
}

template <class Function>
void Ema::for_all(const Function& function) {
  struct Call {
    const std::vector<Part>& parts;
    float* average;
    const Function& function;
  } call{parts_, packed_.mutable_data_ptr<float>(), function};
  const auto run = [](void* arg, int64_t begin, int64_t end) {
    const Call& job = *static_cast<Call*>(arg);
    auto part = std::upper_bound(job.parts.begin(), job.parts.end(), begin,
                                 [](int64_t at, const Part& p) { return at < p.begin; });
    for (--part; begin < end; ++part) {
      const int64_t stop = std::min(end, part->begin + part->weights.numel());
      float* weights = static_cast<float*>(part->weights.data_ptr()) + (begin - part->begin);
      job.function(weights, job.average + begin, stop - begin);
      begin = stop;
    }
  };
  const stc_host& host = process_host();
  host.parallel_for(host.ctx, packed_.numel(), kGrain, run, &call);
}

void Ema::update(uint64_t step) {
  if (step % static_cast<uint64_t>(settings_.every) != 0) return;
  const at::NoGradGuard no_grad;
  const double share = 1.0 - settings_.decay;
  if (!direct_) {
    for (Part& part : parts_) part.average.lerp_(part.weights.to(part.average.options()), share);
    return;
  }
  for_all([share = static_cast<float>(share)](const float* weights, float* average, int64_t n) {
    for (int64_t i = 0; i < n; ++i) average[i] += share * (weights[i] - average[i]);
  });
}

void Ema::swap() {
  const at::NoGradGuard no_grad;
  swapped_ = !swapped_;
  if (direct_) {
    for_all([](float* weights, float* average, int64_t n) { std::swap_ranges(weights, weights + n, average); });
    return;
  }
  for (Part& part : parts_) {
    if (part.weights.scalar_type() == at::kFloat) {
      const at::Tensor before = part.weights.clone();
      part.weights.copy_(part.average);
      part.average.copy_(before);
    } else if (swapped_) {  // a narrower type would not give the average back
      part.aside = part.weights.clone();
      part.weights.copy_(part.average);
    } else {
      part.weights.copy_(part.aside);
      part.aside = at::Tensor();
    }
  }
}

std::vector<HostTensor> Ema::copy(HostCopies& copies) const {
  std::vector<HostTensor> tensors;
  for (const Part& part : parts_) tensors.push_back(copies.take("ema", part.name, part.average));
  return tensors;
}

void Ema::load(const LoadedCheckpoint& checkpoint) {
  std::vector<LiveTensor> live;
  for (const Part& part : parts_) live.push_back({part.name, part.average});
  copy_by_name(live, checkpoint.ema, checkpoint.path + "/ema.safetensors");
}

SwappedWeights::SwappedWeights(Ema& ema, Model& model) : ema_(ema), model_(model) {
  ema_.swap();
  model_.parameters_changed();
}

SwappedWeights::~SwappedWeights() {
  ema_.swap();
  try {
    model_.parameters_changed();
  } catch (const PluginError&) {  // the model met the same call before; its next forward tells
  }
}

}  // namespace stc::host
