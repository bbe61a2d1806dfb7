/// \file
/// Reads event files back, for tests: written from the formats, not from the writer beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stc::tensorboard::test {

/// One Event message.
struct ReadEvent {
  double wall_time_s = 0;
  int64_t step = 0;
  std::string file_version;
  std::optional<uint64_t> session_status;
  std::vector<std::pair<std::string, float>> scalars;
  std::vector<std::pair<std::string, std::string>> texts;  // of plugin "text"
};

/// \throws std::runtime_error for a checksum that is wrong, a record cut short, or a field that is
/// not expected.
std::vector<ReadEvent> read_event_file(const std::filesystem::path& path);

}  // namespace stc::tensorboard::test
