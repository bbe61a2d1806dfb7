#include "host/checkpoint/checkpoint_folder.hpp"

#include <cmath>
#include <string_view>

#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/json_text.hpp"
#include "host/checkpoint/layout.hpp"

namespace stc::host {
namespace {

constexpr int kStateDepth = 100;

/// JSON has no word for infinity or not-a-number: the library would write null.
void refuse_unwritable(const std::string& path, const Value& value, int depth = 0) {
  if (depth > kStateDepth) {
    throw CheckpointError("state." + path + ": nested deeper than " + std::to_string(kStateDepth));
  }
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    throw CheckpointError("state." + path + ": not a finite number, JSON cannot hold it");
  }
  if (!value.is_structured()) return;
  for (const auto& [key, item] : value.items()) {
    refuse_unwritable(path.empty() ? key : path + "." + key, item, depth + 1);
  }
}

FileDigest write_text_file(FileSystem& files, const std::string& path, const std::string& text) {
  auto file = files.create(path);
  file->write(text.data(), text.size());
  file->sync();
  file->close();
  return {text.size(), xxh3_128_hex(text.data(), text.size())};
}

std::string state_text(const Value& state) {
  refuse_unwritable("", state);
  try {
    return state.dump(2) + "\n";
  } catch (const nlohmann::json::exception&) {
    throw CheckpointError("state: holds text that is not UTF-8");
  }
}

std::string file_problem(const std::string& path, const FileView& view, const FileDigest& expected,
                         Verify verify) {
  if (view.bytes != expected.bytes) {
    return path + ": " + std::to_string(view.bytes) + " bytes, expected " +
           std::to_string(expected.bytes);
  }
  if (verify == Verify::kHashes) {
    const std::string found = xxh3_128_hex(view.data, view.bytes);
    if (found != expected.xxh3_128) {
      return path + ": damaged, XXH3 hash is " + found + ", expected " + expected.xxh3_128;
    }
  }
  return {};
}

FileView open_checked(FileSystem& files, const std::string& folder, const std::string& name,
                      const FileDigest& expected, Verify verify) {
  const std::string path = join_path(folder, name);
  if (!files.kind(path)) throw CheckpointError(path + ": missing");
  FileView view = files.map(path);
  const std::string problem = file_problem(path, view, expected, verify);
  if (!problem.empty()) throw CheckpointError(problem);
  return view;
}

}  // namespace

std::string write_checkpoint(FileSystem& files, const std::string& folder, const Snapshot& snapshot,
                             const std::string& run_id, const std::string& version) {
  Manifest manifest;
  manifest.step = snapshot.step;
  manifest.run_id = run_id;
  manifest.version = version;
  const auto put = [&](const char* name, const std::vector<HostTensor>& tensors, const Metadata& metadata) {
    manifest.files[name] = write_safetensors(join_path(folder, name), tensors, metadata, files);
  };
  put(kModelFile, snapshot.model, snapshot.model_metadata);
  put(kOptimizerFile, snapshot.optimizer, {});
  if (!snapshot.coordinator.empty()) put(kCoordinatorFile, snapshot.coordinator, {});
  manifest.files[kStateFile] =
      write_text_file(files, join_path(folder, kStateFile), state_text(snapshot.state));
  std::string text = manifest_text(manifest);
  write_text_file(files, join_path(folder, kManifestFile), text);
  files.sync_directory(folder);
  return text;
}

std::vector<std::string> check_files(FileSystem& files, const std::string& folder,
                                     const Manifest& manifest, Verify verify) {
  std::vector<std::string> problems;
  for (const auto& [name, digest] : manifest.files) {
    try {
      open_checked(files, folder, name, digest, verify);
    } catch (const CheckpointError& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

Manifest read_folder_manifest(FileSystem& files, const std::string& folder) {
  Manifest manifest = read_manifest(files, folder);
  const size_t end = folder.find_last_not_of('/');
  const size_t slash = folder.find_last_of('/', end);
  const std::string name = folder.substr(slash + 1, end - slash);
  const auto step = parse_step_folder_name(name);
  if (step && *step != manifest.step) {
    throw CheckpointError(join_path(folder, kManifestFile) + ": step " + std::to_string(manifest.step) +
                          " in a folder named " + name);
  }
  return manifest;
}

LoadedCheckpoint read_checkpoint(FileSystem& files, const std::string& folder, Verify verify) {
  const Manifest manifest = read_folder_manifest(files, folder);
  LoadedCheckpoint loaded;
  loaded.path = folder;
  loaded.step = manifest.step;
  loaded.run_id = manifest.run_id;
  loaded.version = manifest.version;
  for (const auto& [name, digest] : manifest.files) {
    const std::string path = join_path(folder, name);
    const FileView view = open_checked(files, folder, name, digest, verify);
    if (name == kStateFile) {
      const std::string_view text(reinterpret_cast<const char*>(view.data), view.bytes);
      loaded.state = parse_json_strictly(path, text, kStateDepth);
    } else if (name == kModelFile) {
      const SafetensorsFile file(path, view);
      loaded.model = file.tensors();
      loaded.model_metadata = file.metadata();
    } else if (name == kOptimizerFile) {
      loaded.optimizer = SafetensorsFile(path, view).tensors();
    } else if (name == kCoordinatorFile) {
      loaded.coordinator = SafetensorsFile(path, view).tensors();
    }
  }
  return loaded;
}

}  // namespace stc::host
