/// \file
/// Reading and writing safetensors files (format: huggingface/safetensors, docs/reference/checkpoint.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stc::host {

/// A tensor in host memory, dense and row-major, little-endian.
struct HostTensor {
  std::string name;
  int dtype = 0;  // STC_DTYPE_*
  std::vector<int64_t> shape;
  const void* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<const void> owner;  // keeps data alive
};

using Metadata = std::map<std::string, std::string>;

/// Writes tensors in the order given (the header lists them by that order, data 8-byte aligned) and
/// syncs the file. \throws CheckpointError with path and reason.
void write_safetensors(const std::string& path, const std::vector<HostTensor>& tensors, const Metadata& metadata);

/// A file mapped read-only.
class SafetensorsFile {
 public:
  /// Every size, offset and name is checked against the file. \throws CheckpointError.
  explicit SafetensorsFile(const std::string& path);
  const std::vector<HostTensor>& tensors() const { return tensors_; }
  const HostTensor* find(const std::string& name) const;
  const Metadata& metadata() const { return metadata_; }

 private:
  std::vector<HostTensor> tensors_;
  Metadata metadata_;
};

}  // namespace stc::host
