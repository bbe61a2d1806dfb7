/// \file
/// Shapes that waste hardware: warnings, never errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/config/settings.hpp"
#include "host/events/bus.hpp"

namespace stc::host {

struct ShapeWarning {
  std::string code;   // batch_alignment, sequence_alignment, token_alignment, model_alignment, vocab_alignment
  std::string field;  // key or dimension at fault
  int64_t value = 0;
  std::optional<int64_t> suggested;  // the next multiple; none where it would break another rule
  int64_t alignment = 0;
  std::string reason;
};

/// Without an alignment nothing was looked at, and nothing is reported.
struct ShapeReport {
  std::optional<int64_t> alignment;
  std::string device_type;  // cpu, cuda, mps
  std::string precision;    // fp32, bf16, fp16
  std::vector<ShapeWarning> warnings;
};

/// Checks batch, sequence, model and vocabulary sizes against a multiple: shape_validation.alignment, or
/// for `auto` 8 on CUDA in bf16 and fp16. On the CPU and on MPS only with warn_on_cpu.
/// \param dimensions names and sizes that the model gives
/// \param precision fp32, bf16 or fp16, as resolved
ShapeReport validate_shapes(const Settings& settings, const std::string& device_type, const std::string& precision,
                            const std::vector<std::pair<std::string, int64_t>>& dimensions);

/// One shape_warning each, then shape_profile; nothing without an alignment.
void emit_shape_report(const ShapeReport& report, EventBus& events);

}  // namespace stc::host
