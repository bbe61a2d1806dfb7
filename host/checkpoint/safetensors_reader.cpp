// Every number of the header is taken as hostile until it has been checked against the file.

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/checkpoint/dtype.hpp"
#include "host/checkpoint/json_text.hpp"
#include "host/checkpoint/safetensors.hpp"
#include "host/checkpoint/safetensors_format.hpp"

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

namespace stc::host {
namespace {

using Json = nlohmann::json;

constexpr int kHeaderDepth = 3;  // header, tensor, shape

/// The header's text, and in `data` what follows it.
std::string_view split_header(const std::string& path, const FileView& view, FileView& data) {
  const std::string unknown = path + ": unknown format, not a safetensors file: ";
  uint64_t length = 0;
  if (view.bytes < sizeof(length)) {
    throw CheckpointError(unknown + std::to_string(view.bytes) + " bytes, expected at least 8");
  }
  std::memcpy(&length, view.data, sizeof(length));
  if (length > kLargestHeader || length > view.bytes - sizeof(length)) {
    throw CheckpointError(unknown + "header of " + std::to_string(length) + " bytes in a file of " +
                          std::to_string(view.bytes));
  }
  const char* text = reinterpret_cast<const char*>(view.data) + sizeof(length);
  if (length == 0 || text[0] != '{') throw CheckpointError(unknown + "the header opens without {");
  data.owner = view.owner;
  data.data = view.data + sizeof(length) + length;
  data.bytes = view.bytes - sizeof(length) - length;
  return {text, length};
}

Metadata read_metadata(const std::string& path, const Json& value) {
  if (!value.is_object()) throw CheckpointError(path + ": " + kMetadataKey + ": not an object");
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      throw CheckpointError(path + ": " + kMetadataKey + "." + key + ": not a string");
    }
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

const Json& member(const std::string& subject, const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw CheckpointError(subject + ": without " + key);
  return *found;
}

HostTensor read_entry(const std::string& path, const std::string& name, const Json& entry, const FileView& data) {
  const std::string subject = path + ": tensor " + name;
  if (!entry.is_object()) throw CheckpointError(subject + ": not an object");
  HostTensor tensor;
  tensor.name = name;
  const Json& dtype = member(subject, entry, "dtype");
  const auto code = dtype.is_string() ? safetensors_dtype(dtype.get_ref<const std::string&>()) : std::nullopt;
  if (!code) {
    throw CheckpointError(subject + ": dtype " + dtype.dump() + ", expected one of " + safetensors_dtype_names());
  }
  tensor.dtype = *code;
  const Json& shape = member(subject, entry, "shape");
  if (!shape.is_array()) throw CheckpointError(subject + ": shape is not a list");
  for (const Json& size : shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) {
      throw CheckpointError(subject + ": size " + size.dump() + " in shape");
    }
    tensor.shape.push_back(size.get<int64_t>());
  }
  const Json& offsets = member(subject, entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    throw CheckpointError(subject + ": data_offsets " + offsets.dump() + ", expected two offsets");
  }
  if (entry.size() != 3) {
    throw CheckpointError(subject + ": has keys beyond dtype, shape, data_offsets");
  }
  const auto begin = offsets[0].get<uint64_t>();
  const auto end = offsets[1].get<uint64_t>();
  if (begin > end || end > data.bytes) {
    throw CheckpointError(subject + ": data_offsets " + offsets.dump() + " in data of " + std::to_string(data.bytes) +
                          " bytes");
  }
  tensor.bytes = end - begin;
  const auto needed = dense_bytes(tensor.dtype, tensor.shape);
  if (!needed || *needed != tensor.bytes) {
    throw CheckpointError(subject + ": " + std::to_string(tensor.bytes) + " bytes, dtype " +
                          safetensors_dtype_name(tensor.dtype) + " and shape " + shape_text(tensor.shape) + " need " +
                          (needed ? std::to_string(*needed) : "more than 64 bits can count"));
  }
  tensor.data = data.data + begin;
  tensor.owner = data.owner;
  return tensor;
}

/// The data must be covered once, from the first byte to the last.
void check_coverage(const std::string& path, const std::vector<HostTensor>& tensors, const FileView& data) {
  std::vector<const HostTensor*> order;
  order.reserve(tensors.size());
  for (const HostTensor& tensor : tensors) order.push_back(&tensor);
  const auto begin = [&](const HostTensor* tensor) {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(tensor->data) - data.data);
  };
  std::sort(order.begin(), order.end(), [&](const HostTensor* a, const HostTensor* b) {
    return begin(a) != begin(b) ? begin(a) < begin(b) : a->bytes < b->bytes;
  });
  uint64_t covered = 0;
  for (const HostTensor* tensor : order) {
    if (begin(tensor) != covered) {
      throw CheckpointError(path + ": tensor " + tensor->name + ": begins at " + std::to_string(begin(tensor)) +
                            ", the data before it end at " + std::to_string(covered));
    }
    covered += tensor->bytes;
  }
  if (covered != data.bytes) {
    throw CheckpointError(path + ": " + std::to_string(data.bytes - covered) + " bytes after the last tensor");
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path, FileSystem& files) : SafetensorsFile(path, files.map(path)) {}

SafetensorsFile::SafetensorsFile(const std::string& path, FileView view) {
  FileView data;
  const std::string_view text = split_header(path, view, data);
  std::vector<std::string> order;
  const Json header = parse_json_index(path + ": header", text, kHeaderDepth, order);
  tensors_.reserve(order.size());
  for (const std::string& name : order) {
    const Json& entry = header.at(name);
    if (name == kMetadataKey) {
      metadata_ = read_metadata(path, entry);
    } else {
      tensors_.push_back(read_entry(path, name, entry, data));
      index_.emplace(name, tensors_.size() - 1);
    }
  }
  check_coverage(path, tensors_, data);
}

const HostTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace stc::host
