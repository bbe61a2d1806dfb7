#include "host/evaluate/evaluation.hpp"

#include <cmath>
#include <numbers>

#include <ATen/core/Tensor.h>

#include "host/train/autocast.hpp"
#include "host/train/device_batch.hpp"
#include "host/train/loss.hpp"

namespace stc::host {
namespace {

/// Mean loss of a batch: a 0-d tensor on the device.
at::Tensor batch_loss(const EvaluationParts& parts, const std::shared_ptr<const Batch>& batch,
                      const at::Device& device) {
  const DeviceBatch moved = to_device(batch, device);
  stc_pass_info info{};
  info.struct_size = sizeof(info);
  info.weight = 1.0;
  const AutocastGuard autocast(parts.plan, device);
  const ModelOutputs outputs = parts.model->forward(info, moved.inputs);
  return loss_of(outputs, moved.inputs, parts.model->name()).detach().to(at::kDouble);
}

}  // namespace

double Score::perplexity() const { return std::exp(loss); }

std::optional<double> Score::bits_per_byte() const {
  if (!bytes || *bytes == 0) return std::nullopt;
  return loss * static_cast<double>(tokens) / (std::numbers::ln2 * static_cast<double>(*bytes));
}

std::optional<Score> evaluate(const EvaluationParts& parts, ValidationSet& set) {
  const at::Device device(parts.device_name);
  Score score;
  double sum = 0;
  at::Tensor device_sum;
  set.rewind();
  while (true) {
    if (parts.stop()) return std::nullopt;
    const std::shared_ptr<const Batch> batch = set.next();
    if (!batch) break;
    const int64_t labels = batch->valid_labels >= 0 ? batch->valid_labels : parts.capacity;
    if (labels == 0) continue;
    const at::Tensor part = batch_loss(parts, batch, device).mul(static_cast<double>(labels));
    if (device.is_cpu()) {
      sum += part.item<double>();
    } else {
      device_sum = device_sum.defined() ? device_sum.add(part) : part;
    }
    score.tokens += static_cast<uint64_t>(labels);
    if (const auto bytes = set.text_bytes(*batch)) score.bytes = score.bytes.value_or(0) + *bytes;
  }
  if (device_sum.defined()) sum = device_sum.item<double>();
  if (score.tokens > 0) score.loss = sum / static_cast<double>(score.tokens);
  return score;
}

}  // namespace stc::host
