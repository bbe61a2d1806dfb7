// Layout: u64 little-endian header length, JSON header padded with spaces to a multiple of 8, data.

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

#include "host/checkpoint/dtype.hpp"
#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/safetensors.hpp"
#include "host/checkpoint/safetensors_format.hpp"
#include "stc/core/dtype.hpp"

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

namespace stc::host {
namespace {

constexpr uint64_t kChunk = uint64_t{4} << 20;  // hashed, then written, while still in the cache

void check_tensor(const std::string& path, const HostTensor& tensor) {
  const std::string subject = path + ": tensor " + tensor.name;
  if (tensor.name == kMetadataKey) {
    throw CheckpointError(subject + ": the name is reserved by the format");
  }
  const auto bytes = dense_bytes(tensor.dtype, tensor.shape);
  if (!bytes) {
    throw CheckpointError(subject + ": dtype " + std::to_string(tensor.dtype) + " and shape " +
                          shape_text(tensor.shape) + " have no size");
  }
  if (*bytes != tensor.bytes || (tensor.data == nullptr && tensor.bytes > 0)) {
    throw CheckpointError(subject + ": " + std::to_string(tensor.data == nullptr ? 0 : tensor.bytes) +
                          " bytes, shape " + shape_text(tensor.shape) + " needs " + std::to_string(*bytes));
  }
}

/// Indices by falling element size, else in the order given.
std::vector<size_t> data_order(const std::vector<HostTensor>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return dtype_size(tensors[a].dtype) > dtype_size(tensors[b].dtype); });
  return order;
}

std::string make_header(const std::string& path, const std::vector<HostTensor>& tensors,
                        const std::vector<size_t>& order, const Metadata& metadata) {
  std::vector<uint64_t> begins(tensors.size());
  uint64_t offset = 0;
  for (const size_t index : order) {
    begins[index] = offset;
    offset += tensors[index].bytes;
  }
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::string text;
  try {
    // Entry by entry: a key look-up in an ordered object is linear.
    text = header.dump();
    text.pop_back();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const HostTensor& tensor = tensors[i];
      const nlohmann::ordered_json entry = {{"dtype", safetensors_dtype_name(tensor.dtype)},
                                            {"shape", tensor.shape},
                                            {"data_offsets", {begins[i], begins[i] + tensor.bytes}}};
      if (text.size() > 1) text.push_back(',');
      text += nlohmann::ordered_json(tensor.name).dump() + ":" + entry.dump();
    }
    text.push_back('}');
  } catch (const nlohmann::json::exception&) {
    throw CheckpointError(path + ": a tensor name or a metadata text is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kLargestHeader) {
    throw CheckpointError(path + ": header of " + std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(kLargestHeader));
  }
  return text;
}

/// What goes before the data: the length and the header. \throws CheckpointError.
std::string make_head(const std::string& path, const std::vector<HostTensor>& tensors, const std::vector<size_t>& order,
                      const Metadata& metadata) {
  std::unordered_set<std::string> names;
  for (const HostTensor& tensor : tensors) {
    check_tensor(path, tensor);
    if (!names.insert(tensor.name).second) {
      throw CheckpointError(path + ": tensor " + tensor.name + ": given twice");
    }
  }
  const std::string header = make_header(path, tensors, order, metadata);
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
}

FileDigest write_parts(OutputFile& file, const std::string& head, const std::vector<HostTensor>& tensors,
                       const std::vector<size_t>& order) {
  Hasher hasher;
  FileDigest digest;
  const auto put = [&](const void* data, uint64_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const uint64_t part = std::min(bytes, kChunk);
      hasher.update(at, part);
      file.write(at, part);
      at += part;
      bytes -= part;
      digest.bytes += part;
    }
  };
  put(head.data(), head.size());
  for (const size_t index : order) put(tensors[index].data, tensors[index].bytes);
  digest.xxh3_128 = hasher.hex();
  return digest;
}

}  // namespace

FileDigest write_safetensors(OutputFile& file, const std::string& path, const std::vector<HostTensor>& tensors,
                             const Metadata& metadata) {
  const std::vector<size_t> order = data_order(tensors);
  return write_parts(file, make_head(path, tensors, order, metadata), tensors, order);
}

FileDigest write_safetensors(const std::string& path, const std::vector<HostTensor>& tensors, const Metadata& metadata,
                             FileSystem& files) {
  const std::vector<size_t> order = data_order(tensors);
  const std::string head = make_head(path, tensors, order, metadata);  // may throw before the file exists
  auto file = files.create(path);
  const FileDigest digest = write_parts(*file, head, tensors, order);
  file->sync();
  file->close();
  return digest;
}

}  // namespace stc::host
