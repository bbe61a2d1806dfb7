/// \file
/// Folders, tensors and damage for the checkpoint tests.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stc/abi/core.h"

#include "host/checkpoint/dtype.hpp"
#include "host/checkpoint/safetensors.hpp"

namespace stc::host::test {

/// An empty folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory where that is possible: these tests sync thousands of files.
    std::error_code error;
    const bool in_memory =
        std::filesystem::is_directory("/dev/shm", error) && ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path base =
        in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (base / "stc-checkpoint-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string str() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path);
}

/// A tensor that owns a copy of `values`.
template <class T>
HostTensor make_tensor(const std::string& name,
                       int dtype,
                       std::vector<int64_t> shape,
                       const std::vector<T>& values) {
  auto copy = std::make_shared<std::vector<T>>(values);
  HostTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.bytes = copy->size() * sizeof(T);
  tensor.data = copy->data();
  tensor.owner = std::shared_ptr<const void>(copy, copy->data());
  return tensor;
}

inline std::string bytes_of(const HostTensor& tensor) {
  return std::string(static_cast<const char*>(tensor.data), tensor.bytes);
}

inline bool same_tensor(const HostTensor& a, const HostTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes &&
         (a.bytes == 0 || std::memcmp(a.data, b.data, a.bytes) == 0);
}

inline std::string source_folder() {
  const char* root = std::getenv("STC_TEST_SOURCE");
  return root == nullptr ? std::string(".") : std::string(root);
}

}  // namespace stc::host::test
