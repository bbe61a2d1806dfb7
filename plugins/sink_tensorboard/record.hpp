/// \file
/// The bytes of a TensorBoard event file: records with checksums around protocol-buffer messages.
///
/// Framing: the record format of TensorFlow (TFRecord), CRC-32C of RFC 3720 with TensorFlow's mask.
/// Messages: Event, SessionLog, Summary, SummaryMetadata and TensorProto of the proto3 files of the
/// tensorboard package, of which only the fields below are written; field numbers stand beside them
/// in record.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stc::tensorboard {

/// CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected, all ones before and after.
uint32_t crc32c(std::string_view bytes);

/// u64 length, u32 masked CRC of the length, message, u32 masked CRC of the message; all
/// little-endian.
std::string framed(std::string_view message);

/// An Event message with a Summary of any number of values.
class SummaryEvent {
 public:
  SummaryEvent(double wall_time_s, int64_t step);
  /// \param tag UTF-8.
  void add_scalar(std::string_view tag, double value);
  /// A value of the text dashboard, which shows it as Markdown. \param tag, text UTF-8.
  void add_text(std::string_view tag, std::string_view text);
  bool empty() const { return summary_.empty(); }
  std::string message() const;

 private:
  std::string head_;
  std::string summary_;
};

/// The first Event of a file.
std::string version_event(double wall_time_s);

/// Begins a part of a run: readers drop what they have read of steps from `step` on.
std::string start_event(double wall_time_s, int64_t step);

}  // namespace stc::tensorboard
