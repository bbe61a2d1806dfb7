#include "host/train/loss.hpp"

#include <ATen/ops/cross_entropy_loss.h>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"
#include "stc/core/shape.hpp"

namespace stc::host {
namespace {

constexpr int64_t kIgnoredLabel = -100;

/// Counts labels that take part; refuses those that no class has.
int64_t count_labels(const at::Tensor& labels, int64_t classes) {
  const at::Tensor flat = labels.contiguous();
  const auto* values = flat.const_data_ptr<int64_t>();
  int64_t valid = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if (values[i] == kIgnoredLabel) continue;
    if (values[i] < 0 || values[i] >= classes) {
      throw DataError("labels: got " + std::to_string(values[i]) + ", expected 0.." + std::to_string(classes - 1) +
                      " or -100");
    }
    ++valid;
  }
  return valid;
}

}  // namespace

at::Tensor causal_loss(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.dim() != 3 || labels.dim() != 2 || labels.size(0) != logits.size(0) ||
      (labels.size(1) != logits.size(1) && labels.size(1) != logits.size(1) - 1)) {
    throw ShapeError(
        "labels: shape " + shape_text(labels.sizes()) + " does not fit logits of shape " + shape_text(logits.sizes()),
        "labels are (B,T), or (B,T-1) for logits[:, :-1]");
  }
  const at::Tensor used = labels.size(1) == logits.size(1) ? logits : logits.narrow(1, 0, labels.size(1));
  const at::Tensor target = labels.to(at::kLong);
  if (target.is_cpu()) {
    if (count_labels(target, logits.size(2)) == 0) return logits.sum().mul(0.0);
  } else if (!target.ne(kIgnoredLabel).any().item<bool>()) {
    return logits.sum().mul(0.0);
  }
  return at::cross_entropy_loss(used.reshape({-1, used.size(2)}), target.reshape({-1}), {}, at::Reduction::Mean,
                                kIgnoredLabel);
}

at::Tensor loss_of(const ModelOutputs& outputs, const std::vector<NamedHandle>& inputs, const std::string& model) {
  if (const stc_tensor loss = outputs.find("loss")) {
    const at::Tensor& value = to_tensor(loss);
    return value.dim() == 0 ? value : value.mean();
  }
  const stc_tensor logits = outputs.find("logits");
  if (logits == nullptr) {
    throw ShapeError("model " + model + ": returned neither loss nor logits",
                     "put a scalar `loss`, or `logits` (B,T,V) for a batch with labels");
  }
  for (const NamedHandle& input : inputs) {
    if (input.name == "labels") return causal_loss(to_tensor(logits), to_tensor(input.tensor));
  }
  throw ShapeError("model " + model + ": returned logits, but the batch has no labels");
}

}  // namespace stc::host
