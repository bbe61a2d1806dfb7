/// \file
/// A folder for the time of a command.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "host/errors/error.hpp"

namespace stc::host {

/// A new folder among the system's temporary files, removed with all in it at the end unless it is kept.
class TemporaryFolder {
 public:
  /// \param name  begins the folder's name. \throws Error: "<subject>: no folder in ...".
  TemporaryFolder(const std::string& subject, const std::string& name) {
    std::error_code none;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(none);
    if (none) {
      throw Error(subject + ": no folder for temporary files: " + none.message(), "TMPDIR names one; it must be there");
    }
    path_ = (parent / (name + "-XXXXXX")).string();
    if (::mkdtemp(path_.data()) != nullptr) return;
    throw Error(subject + ": no folder in " + parent.string() + ": " + std::generic_category().message(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace stc::host
