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
#include "stc/core/dtype.hpp"
#include "stc/testing/folder.hpp"

namespace stc::host::test {

/// An empty folder that goes away with the object.
class TemporaryFolder {
 public:
  std::string str() const { return folder_.path().string(); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  // In memory where that is possible: these tests sync thousands of files.
  static std::filesystem::path base() {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error) && ::access("/dev/shm", W_OK) == 0;
    return in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
  }
  stc::testing::Folder folder_{base()};
};

inline std::string read_text(const std::string& path) { return stc::testing::read_file(path); }

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path);
}

/// A tensor that owns a copy of `values`.
template <class T>
HostTensor make_tensor(const std::string& name, int dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
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
