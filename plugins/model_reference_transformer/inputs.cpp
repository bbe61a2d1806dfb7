#include "inputs.hpp"

#include "stc/core/fault.hpp"
#include "stc/core/shape.hpp"

namespace stc::reference_transformer {
namespace {

Fault bad_input(std::string message) { return Fault(STC_ERROR_INVALID_ARGUMENT, std::move(message)); }

void check_integers(const char* name, const at::Tensor& t, bool allow_bool) {
  if (!at::isIntegralType(t.scalar_type(), allow_bool)) {
    throw bad_input(std::string(name) + ": values of type " + c10::toString(t.scalar_type()) + ", expected integers");
  }
}

void check_same_shape(const char* name, const at::Tensor& t, const at::Tensor& ids) {
  if (t.sizes() != ids.sizes()) {
    throw bad_input(std::string(name) + ": shape " + shape_text(t) + ", input_ids have " + shape_text(ids));
  }
}

void check_values(const char* name, const at::Tensor& t, int64_t vocab, bool allow_ignored) {
  if (!t.is_cpu()) return;
  const auto* value = t.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (value[i] >= 0 && value[i] < vocab) continue;
    if (allow_ignored && value[i] == -100) continue;
    throw bad_input(std::string(name) + ": got " + std::to_string(value[i]) + " at row " +
                    std::to_string(i / t.size(1)) + ", position " + std::to_string(i % t.size(1)) + ", expected 0 to " +
                    std::to_string(vocab - 1) + (allow_ignored ? ", or -100 (ignored)" : ""));
  }
}

at::Tensor as_int64(const at::Tensor& t, at::Device device) {
  return t.to(at::TensorOptions().dtype(at::kLong).device(device)).contiguous();
}

}  // namespace

std::string shape_text(const at::Tensor& t) { return stc::shape_text(t.sizes()); }

at::Tensor checked_ids(const at::Tensor& ids, int64_t vocab, at::Device device) {
  if (ids.dim() != 2) throw bad_input("input_ids: shape " + shape_text(ids) + ", expected (rows, positions)");
  if (ids.numel() == 0) throw bad_input("input_ids: shape " + shape_text(ids) + ", expected at least one token");
  check_integers("input_ids", ids, false);
  at::Tensor out = as_int64(ids, device);
  check_values("input_ids", out, vocab, false);
  return out;
}

at::Tensor checked_labels(const at::Tensor& labels, const at::Tensor& ids, int64_t vocab, at::Device device) {
  check_same_shape("labels", labels, ids);
  check_integers("labels", labels, false);
  const at::Tensor out = as_int64(labels, device);
  check_values("labels", out, vocab, true);
  return out.view({-1});
}

at::Tensor checked_mask(const at::Tensor& mask, const at::Tensor& ids, at::Device device) {
  check_same_shape("attention_mask", mask, ids);
  at::Tensor keys = mask.to(device).ne(0).contiguous();
  if (!keys.is_cpu()) return keys;
  const bool* value = keys.const_data_ptr<bool>();
  for (int64_t i = 0; i < keys.numel(); ++i) {
    if (!value[i]) return keys;
  }
  return {};
}

}  // namespace stc::reference_transformer
