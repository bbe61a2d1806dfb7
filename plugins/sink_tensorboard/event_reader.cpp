#include "event_reader.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace stc::tensorboard::test {
namespace {

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

/// Bit by bit, from the definition in RFC 3720.
uint32_t crc_by_definition(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t in = static_cast<unsigned char>(c) >> bit & 1u;
      crc = (crc & 1u) != in ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
  }
  return ~crc;
}

template <class T>
T take(std::string_view& bytes) {
  require(bytes.size() >= sizeof(T), "cut short");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

void check(std::string_view bytes, uint32_t stored) {
  const uint32_t turned = stored - 0xA282EAD8u;
  require(crc_by_definition(bytes) == (turned << 15 | turned >> 17), "wrong checksum");
}

/// A field of a message: a number, or bytes.
struct Field {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  uint64_t integer = 0;
  std::string_view bytes;
};

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take<char>(bytes));
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  throw std::runtime_error("an endless number");
}

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    Field field;
    const uint64_t key = take_varint(message);
    field.number = static_cast<uint32_t>(key >> 3);
    field.wire_type = key & 7;
    if (field.wire_type == 0) {
      field.integer = take_varint(message);
    } else if (field.wire_type == 1) {
      field.integer = take<uint64_t>(message);
    } else if (field.wire_type == 5) {
      field.integer = take<uint32_t>(message);
    } else {
      require(field.wire_type == 2, "wire type " + std::to_string(field.wire_type));
      const uint64_t size = take_varint(message);
      require(size <= message.size(), "a field beyond its message");
      field.bytes = message.substr(0, size);
      message.remove_prefix(size);
    }
    fields.push_back(field);
  }
  return fields;
}

/// Bytes of the only field `number`, "" when absent.
std::string_view bytes_of(std::string_view message, uint32_t number) {
  std::string_view found;
  for (const Field& field : fields_of(message)) {
    if (field.number == number) {
      found = field.bytes;
    }
  }
  return found;
}

std::string text_of(std::string_view tensor) {
  uint64_t dtype = 0;
  std::vector<std::string> strings;
  for (const Field& field : fields_of(tensor)) {
    if (field.number == 1) {
      dtype = field.integer;
    } else if (field.number == 8) {
      strings.emplace_back(field.bytes);
    } else {
      require(field.number == 2, "field of a tensor");
      const std::vector<Field> dim = fields_of(bytes_of(field.bytes, 2));
      require(dim.size() == 1 && dim[0].number == 1 && dim[0].integer == 1, "a shape other than [1]");
    }
  }
  require(dtype == 7 && strings.size() == 1, "not one string");
  return strings[0];
}

void read_value(std::string_view message, ReadEvent& event) {
  std::string tag;
  std::optional<float> scalar;
  std::optional<std::string> text;
  std::string plugin;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) {
      tag = field.bytes;
    } else if (field.number == 2) {
      require(field.wire_type == 5, "a scalar that is no float");
      scalar = std::bit_cast<float>(static_cast<uint32_t>(field.integer));
    } else if (field.number == 8) {
      text = text_of(field.bytes);
    } else {
      require(field.number == 9, "field of a value");
      plugin = bytes_of(bytes_of(field.bytes, 1), 1);
    }
  }
  require(scalar.has_value() != text.has_value(), "neither a scalar nor a text");
  if (scalar) {
    event.scalars.emplace_back(tag, *scalar);
  } else {
    require(plugin == "text", "a text of plugin " + plugin);
    event.texts.emplace_back(tag, *text);
  }
}

ReadEvent read_event(std::string_view message) {
  ReadEvent event;
  for (const Field& field : fields_of(message)) {
    switch (field.number) {
      case 1: event.wall_time_s = std::bit_cast<double>(field.integer); break;
      case 2: event.step = static_cast<int64_t>(field.integer); break;
      case 3: event.file_version = field.bytes; break;
      case 5:
        for (const Field& value : fields_of(field.bytes)) {
          read_value(value.bytes, event);
        }
        break;
      case 7: event.session_status = fields_of(field.bytes).at(0).integer; break;
      default: throw std::runtime_error("field " + std::to_string(field.number) + " of an event");
    }
  }
  return event;
}

}  // namespace

std::vector<ReadEvent> read_event_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  require(in.is_open(), "cannot read " + path.string());
  std::ostringstream content;
  content << in.rdbuf();
  const std::string bytes = content.str();
  std::string_view rest = bytes;
  std::vector<ReadEvent> events;
  while (!rest.empty()) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<uint64_t>(rest);
    check(length_bytes, take<uint32_t>(rest));
    require(length <= rest.size(), "cut short");
    const std::string_view message = rest.substr(0, length);
    rest.remove_prefix(length);
    check(message, take<uint32_t>(rest));
    events.push_back(read_event(message));
  }
  return events;
}

}  // namespace stc::tensorboard::test
