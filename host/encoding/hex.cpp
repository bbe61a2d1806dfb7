#include "host/encoding/hex.hpp"

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

unsigned digit(char c, const std::string& subject) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  throw CheckpointError(subject + ": got '" + std::string(1, c) + "', expected 0-9a-f");
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view text, const std::string& subject) {
  if (text.size() % 2 != 0) {
    throw CheckpointError(subject + ": odd number of digits, " + std::to_string(text.size()));
  }
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(digit(text[i], subject) << 4 | digit(text[i + 1], subject));
  }
  return bytes;
}

}  // namespace stc::host
