#include "record.hpp"

#include <array>
#include <bit>

namespace stc::tensorboard {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    }
    table[i] = crc;
  }
  return table;
}

uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

template <class Integer>
void append_little_endian(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
}

// Wire types of protocol buffers.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7F) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void append_key(std::string& out, uint32_t field, uint32_t wire_type) { append_varint(out, field << 3 | wire_type); }

void append_integer(std::string& out, uint32_t field, uint64_t value) {
  append_key(out, field, kVarint);
  append_varint(out, value);
}

void append_double(std::string& out, uint32_t field, double value) {
  append_key(out, field, kFixed64);
  append_little_endian(out, std::bit_cast<uint64_t>(value));
}

void append_float(std::string& out, uint32_t field, float value) {
  append_key(out, field, kFixed32);
  append_little_endian(out, std::bit_cast<uint32_t>(value));
}

void append_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  append_key(out, field, kBytes);
  append_varint(out, bytes.size());
  out += bytes;
}

// Field numbers.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace session_log {
constexpr uint32_t kStatus = 1;
constexpr uint64_t kStart = 1;
}  // namespace session_log
namespace summary {
constexpr uint32_t kValue = 1;
}
namespace value {
constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr uint32_t kPluginData = 1;
constexpr uint32_t kPluginName = 1;  // of PluginData
}  // namespace metadata
namespace tensor {
constexpr uint32_t kDtype = 1, kShape = 2, kStringVal = 8;
constexpr uint64_t kString = 7;  // DT_STRING
constexpr uint32_t kDim = 2;     // of TensorShapeProto
constexpr uint32_t kSize = 1;    // of Dim
}  // namespace tensor

std::string event_head(double wall_time_s, int64_t step) {
  std::string out;
  append_double(out, event::kWallTime, wall_time_s);
  append_integer(out, event::kStep, static_cast<uint64_t>(step));
  return out;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return ~crc;
}

std::string framed(std::string_view message) {
  std::string out;
  append_little_endian(out, static_cast<uint64_t>(message.size()));
  append_little_endian(out, masked_crc(out));
  out += message;
  append_little_endian(out, masked_crc(message));
  return out;
}

SummaryEvent::SummaryEvent(double wall_time_s, int64_t step) : head_(event_head(wall_time_s, step)) {}

void SummaryEvent::add_scalar(std::string_view tag, double value) {
  std::string out;
  append_bytes(out, value::kTag, tag);
  append_float(out, value::kSimpleValue, static_cast<float>(value));
  append_bytes(summary_, summary::kValue, out);
}

void SummaryEvent::add_text(std::string_view tag, std::string_view text) {
  std::string dim;
  append_integer(dim, tensor::kSize, 1);
  std::string shape;
  append_bytes(shape, tensor::kDim, dim);
  std::string content;
  append_integer(content, tensor::kDtype, tensor::kString);
  append_bytes(content, tensor::kShape, shape);
  append_bytes(content, tensor::kStringVal, text);
  std::string plugin;
  append_bytes(plugin, metadata::kPluginName, "text");
  std::string about;
  append_bytes(about, metadata::kPluginData, plugin);
  std::string out;
  append_bytes(out, value::kTag, tag);
  append_bytes(out, value::kTensor, content);
  append_bytes(out, value::kMetadata, about);
  append_bytes(summary_, summary::kValue, out);
}

std::string SummaryEvent::message() const {
  std::string out = head_;
  append_bytes(out, event::kSummary, summary_);
  return out;
}

std::string version_event(double wall_time_s) {
  std::string out = event_head(wall_time_s, 0);
  append_bytes(out, event::kFileVersion, "brain.Event:2");
  return out;
}

std::string start_event(double wall_time_s, int64_t step) {
  std::string log;
  append_integer(log, session_log::kStatus, session_log::kStart);
  std::string out = event_head(wall_time_s, step);
  append_bytes(out, event::kSessionLog, log);
  return out;
}

}  // namespace stc::tensorboard
