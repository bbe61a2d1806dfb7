#include "host/train/shape_validation.hpp"

#include <set>

namespace stc::host {
namespace {

/// Tensor cores multiply 16-bit matrices in tiles whose edges are multiples of eight elements.
constexpr int64_t kTensorCoreAlignment = 8;

std::optional<int64_t> alignment_of(const ShapeSettings& settings, const std::string& device_type,
                                    const std::string& precision) {
  if (!settings.enabled) return std::nullopt;
  if (device_type != "cuda" && !settings.warn_on_cpu) return std::nullopt;
  if (settings.alignment == "none") return std::nullopt;
  if (settings.alignment != "auto") return std::stoll(settings.alignment);
  if (device_type == "cuda" && precision != "fp32") return kTensorCoreAlignment;
  return std::nullopt;
}

class Checks {
 public:
  explicit Checks(ShapeReport& report) : report_(report), alignment_(*report.alignment) {}
  void look(const char* code, const std::string& field, int64_t value, const char* reason, bool suggest = true) {
    if (value <= 0 || value % alignment_ == 0 || !seen_.insert(field).second) return;
    std::optional<int64_t> suggested;
    if (suggest) suggested = (value + alignment_ - 1) / alignment_ * alignment_;
    report_.warnings.push_back({code, field, value, suggested, alignment_, reason});
  }

 private:
  ShapeReport& report_;
  int64_t alignment_;
  std::set<std::string> seen_;
};

}  // namespace

ShapeReport validate_shapes(const Settings& settings, const std::string& device_type, const std::string& precision,
                            const std::vector<std::pair<std::string, int64_t>>& dimensions) {
  ShapeReport report;
  report.device_type = device_type;
  report.precision = precision;
  report.alignment = alignment_of(settings.shapes, device_type, precision);
  if (!report.alignment) return report;
  const DataSettings& data = settings.data;
  Checks checks(report);
  if (settings.shapes.check_batch) {
    // A larger micro-batch must still divide the target batch.
    const int64_t target = data.micro_batch_size * data.accumulation_steps;
    checks.look("batch_alignment", "data.micro_batch_size", data.micro_batch_size,
                "kernels are fastest on whole tiles of rows", target % *report.alignment == 0);
  }
  if (settings.shapes.check_sequence) {
    checks.look("sequence_alignment", "data.block_size", data.block_size,
                "a sequence that ends within a tile leaves part of it unused");
    checks.look("token_alignment", "data.micro_batch_size * data.block_size", data.micro_batch_size * data.block_size,
                "the tokens of a micro-batch are a side of every product");
  }
  if (settings.shapes.check_model) {
    for (const auto& [name, size] : dimensions) {
      checks.look("model_alignment", name, size, "a product with this side cannot use whole tiles");
    }
  }
  if (settings.shapes.check_vocab) {
    checks.look("vocab_alignment", "model.vocab_size", data.vocab_size,
                "the vocabulary is the widest side of the model");
  }
  return report;
}

void emit_shape_report(const ShapeReport& report, EventBus& events) {
  if (!report.alignment) return;
  for (const ShapeWarning& warning : report.warnings) {
    Event event("shape_warning");
    event.add("code", warning.code)
        .add("field", warning.field)
        .add("value", warning.value)
        .add("suggested", warning.suggested ? FieldValue(*warning.suggested) : FieldValue())
        .add("alignment", warning.alignment)
        .add("reason", warning.reason);
    events.emit(std::move(event));
  }
  Event profile("shape_profile");
  profile.add("device_type", report.device_type)
      .add("precision", report.precision)
      .add("alignment", *report.alignment)
      .add("warning_count", static_cast<int64_t>(report.warnings.size()));
  events.emit(std::move(profile));
}

}  // namespace stc::host
