/// \file
/// A temporary folder that is gone at the end of its scope, and the bytes of files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace stc::testing {

/// The bytes of a file; nothing when it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Folder {
 public:
  /// Made inside \p base.
  explicit Folder(const std::filesystem::path& base = std::filesystem::temp_directory_path()) {
    std::string pattern = (base / "stc-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + pattern);
    }
    path_ = std::filesystem::canonical(pattern);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The bytes of every file under it, by relative path.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) {
        files[entry.path().lexically_relative(path_).string()] = read_file(entry.path());
      }
    }
    return files;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace stc::testing
