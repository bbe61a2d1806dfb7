/// \file
/// Reading and writing safetensors files (format: https://github.com/huggingface/safetensors,
/// section "Format"; our grammar and a worked example: docs/reference/checkpoint.md).
///
/// Own code, because no loadable C++ library reads the format; checked against the Python package.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/checkpoint/file_system.hpp"

namespace stc::host {

/// A tensor in host memory, dense and row-major, little-endian. Whoever fills one in makes the data
/// contiguous first: a transposed or sliced view has to be copied, bytes are written as they lie.
struct HostTensor {
  std::string name;
  int dtype = 0;  // STC_DTYPE_*
  std::vector<int64_t> shape;
  const void* data = nullptr;         // read from a file: aligned to the element only when the file is
  uint64_t bytes = 0;                 // product of shape times the element size
  std::shared_ptr<const void> owner;  // keeps data alive
};

using Metadata = std::map<std::string, std::string>;

/// Size and XXH3-128 of a written file.
struct FileDigest {
  uint64_t bytes = 0;
  std::string xxh3_128;
};

/// Writes a file and syncs it. The header lists the tensors in the order given; the data lie by
/// falling element size, so that every tensor is aligned to its element. Equal input gives equal
/// bytes. Names are unique UTF-8, any but "__metadata__". \throws CheckpointError with path and
/// reason.
FileDigest write_safetensors(const std::string& path, const std::vector<HostTensor>& tensors, const Metadata& metadata,
                             FileSystem& files = FileSystem::real());

/// The same into a file already created as `path`; neither synced nor closed.
FileDigest write_safetensors(OutputFile& file, const std::string& path, const std::vector<HostTensor>& tensors,
                             const Metadata& metadata);

/// A file mapped read-only. Its tensors are views that keep the mapping alive by `owner`, beyond
/// this object. A file that another program shortens while it is mapped raises SIGBUS on access.
class SafetensorsFile {
 public:
  /// Every size, offset and name is checked against the file: header within 100 MB and the file, no
  /// duplicate names, data without holes or overlaps up to the last byte, lengths equal to dtype
  /// and shape. \throws CheckpointError.
  explicit SafetensorsFile(const std::string& path, FileSystem& files = FileSystem::real());
  /// From bytes already mapped; `path` is for messages.
  SafetensorsFile(const std::string& path, FileView view);

  /// In the order of the header.
  const std::vector<HostTensor>& tensors() const { return tensors_; }
  /// nullptr: no such tensor.
  const HostTensor* find(const std::string& name) const;
  const Metadata& metadata() const { return metadata_; }

 private:
  std::vector<HostTensor> tensors_;
  std::unordered_map<std::string, size_t> index_;
  Metadata metadata_;
};

}  // namespace stc::host
