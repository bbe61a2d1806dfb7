#include "host/data/loader.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

constexpr const char* kDigits = "0123456789abcdef";

std::string to_hex(const std::string& bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw CheckpointError("data position: carry_text: got '" + std::string(1, c) + "', expected 0-9a-f");
}

std::string from_hex(const std::string& text) {
  if (text.size() % 2 != 0) {
    throw CheckpointError("data position: carry_text: odd number of digits, " + std::to_string(text.size()));
  }
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    out += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  }
  return out;
}

uint64_t count(const Value& value, const char* key) {
  const auto it = value.find(key);
  if (it == value.end()) throw CheckpointError(std::string("data position: ") + key + " is missing");
  if (!it->is_number_integer() || (!it->is_number_unsigned() && it->get<int64_t>() < 0)) {
    throw CheckpointError(std::string("data position: ") + key + ": got " + it->dump() + ", expected an integer >= 0");
  }
  return it->get<uint64_t>();
}

}  // namespace

Value to_value(const LoaderPosition& position) {
  return {{"pass", position.pass},     {"sample", position.sample}, {"samples_total", position.samples_total},
          {"cursor", position.cursor}, {"skip", position.skip},     {"carry_text", to_hex(position.carry_text)}};
}

LoaderPosition position_from_value(const Value& value) {
  if (!value.is_object()) throw CheckpointError("data position: got " + value.dump() + ", expected an object");
  LoaderPosition position;
  position.pass = count(value, "pass");
  position.sample = count(value, "sample");
  position.samples_total = count(value, "samples_total");
  position.cursor = count(value, "cursor");
  position.skip = count(value, "skip");
  const auto text = value.find("carry_text");
  if (text == value.end() || !text->is_string()) {
    throw CheckpointError("data position: carry_text is missing or no string");
  }
  position.carry_text = from_hex(text->get<std::string>());
  return position;
}

}  // namespace stc::host
