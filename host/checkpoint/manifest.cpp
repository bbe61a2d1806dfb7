#include "host/checkpoint/manifest.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/json_text.hpp"
#include "host/checkpoint/layout.hpp"

namespace stc::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "stc-checkpoint";
constexpr const char* kOwnHash = "manifest_xxh3_128";
constexpr uint64_t kLargestManifest = uint64_t{1} << 20;

std::string with_own_hash(Json value) {
  const std::string body = value.dump(2);
  value[kOwnHash] = xxh3_128_hex(body.data(), body.size());
  return value.dump(2) + "\n";
}

bool is_hash(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// A file inside the folder and nothing else: lower-case words and one dot.
bool is_file_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name[0] == '.' || name == kManifestFile) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; });
}

const Json& member(const std::string& path, const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw CheckpointError(path + ": without " + key);
  return *found;
}

uint64_t unsigned_member(const std::string& path, const Json& object, const char* key) {
  const Json& value = member(path, object, key);
  if (!value.is_number_unsigned()) {
    throw CheckpointError(path + ": " + key + " " + value.dump() + ", expected a number >= 0");
  }
  return value.get<uint64_t>();
}

std::string text_member(const std::string& path, const Json& object, const char* key) {
  const Json& value = member(path, object, key);
  if (!value.is_string()) {
    throw CheckpointError(path + ": " + key + " " + value.dump() + ", expected text");
  }
  return value.get<std::string>();
}

std::map<std::string, FileDigest> read_files(const std::string& path, const Json& list) {
  if (!list.is_object()) throw CheckpointError(path + ": files: not an object");
  std::map<std::string, FileDigest> found;
  for (const auto& [name, entry] : list.items()) {
    if (!is_file_name(name)) {
      throw CheckpointError(path + ": files: " + Json(name).dump() + ", expected a plain file name");
    }
    if (!entry.is_object()) throw CheckpointError(path + ": files: " + name + ": not an object");
    FileDigest digest;
    digest.bytes = unsigned_member(path + ": files: " + name, entry, "bytes");
    const Json& hash = member(path + ": files: " + name, entry, "xxh3_128");
    if (!is_hash(hash)) {
      throw CheckpointError(path + ": files: " + name + ": xxh3_128 " + hash.dump());
    }
    digest.xxh3_128 = hash.get<std::string>();
    found[name] = digest;
  }
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile}) {
    if (found.count(name) == 0) throw CheckpointError(path + ": files: without " + name);
  }
  return found;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json list = Json::object();
  for (const auto& [name, digest] : manifest.files) {
    list[name] = {{"bytes", digest.bytes}, {"xxh3_128", digest.xxh3_128}};
  }
  return with_own_hash({{"format", kFormat},
                        {"format_version", kCheckpointFormatVersion},
                        {"step", manifest.step},
                        {"run_id", manifest.run_id},
                        {"version", manifest.version},
                        {"files", std::move(list)}});
}

Manifest read_manifest(FileSystem& files, const std::string& folder) {
  const std::string path = join_path(folder, kManifestFile);
  if (!files.kind(path)) {
    throw CheckpointError(path + ": missing, the checkpoint was never finished");
  }
  const FileView view = files.map(path);
  if (view.bytes > kLargestManifest) {
    throw CheckpointError(path + ": " + std::to_string(view.bytes) + " bytes, at most " +
                          std::to_string(kLargestManifest));
  }
  const std::string_view text(reinterpret_cast<const char*>(view.data), view.bytes);
  Json value = parse_json_strictly(path, text, 3);
  if (!value.is_object() || value.value("format", Json()) != kFormat) {
    throw CheckpointError(path + ": unknown format, expected " + kFormat);
  }
  const uint64_t format_version = unsigned_member(path, value, "format_version");
  if (format_version != kCheckpointFormatVersion) {
    throw CheckpointError(path + ": format version " + std::to_string(format_version) + ", this program reads " +
                          std::to_string(kCheckpointFormatVersion));
  }
  Json body = value;
  body.erase(kOwnHash);
  if (with_own_hash(std::move(body)) != text) {
    throw CheckpointError(path + ": damaged, its own hash differs");
  }

  Manifest manifest;
  manifest.step = unsigned_member(path, value, "step");
  manifest.run_id = text_member(path, value, "run_id");
  if (!is_run_id(manifest.run_id)) {
    throw CheckpointError(path + ": run_id " + value["run_id"].dump());
  }
  manifest.version = text_member(path, value, "version");
  manifest.files = read_files(path, member(path, value, "files"));
  return manifest;
}

}  // namespace stc::host
