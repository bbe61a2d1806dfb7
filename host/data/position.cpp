#include "host/data/loader.hpp"
#include "host/encoding/hex.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

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
  position.carry_text = from_hex(text->get<std::string>(), "data position: carry_text");
  return position;
}

}  // namespace stc::host
