#include "host/checkpoint/checkpoint_folder.hpp"

#include <cmath>
#include <memory>
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

/// Files written one after the other and made durable together at the end: the disk has one flush
/// to do instead of one a file.
class FileBatch {
 public:
  FileBatch(FileSystem& files, const std::string& folder) : files_(files), folder_(folder) {}

  FileDigest put_tensors(const char* name, const std::vector<HostTensor>& tensors, const Metadata& metadata) {
    OutputFile& file = create(name);
    return write_safetensors(file, join_path(folder_, name), tensors, metadata);
  }

  FileDigest put_text(const char* name, const std::string& text) {
    create(name).write(text.data(), text.size());
    return {text.size(), xxh3_128_hex(text.data(), text.size())};
  }

  void finish() {
    for (const auto& file : open_) file->sync();
    for (const auto& file : open_) file->close();
    files_.sync_directory(folder_);
  }

 private:
  OutputFile& create(const char* name) {
    open_.push_back(files_.create(join_path(folder_, name)));
    return *open_.back();
  }

  FileSystem& files_;
  const std::string& folder_;
  std::vector<std::unique_ptr<OutputFile>> open_;
};

std::string state_text(const Value& state) {
  refuse_unwritable("", state);
  try {
    return state.dump(2) + "\n";
  } catch (const nlohmann::json::exception&) {
    throw CheckpointError("state: holds text that is not UTF-8");
  }
}

std::string file_problem(const std::string& path, const FileView& view, const FileDigest& expected, Verify verify) {
  if (view.bytes != expected.bytes) {
    return path + ": " + std::to_string(view.bytes) + " bytes, expected " + std::to_string(expected.bytes);
  }
  if (verify == Verify::kHashes) {
    const std::string found = xxh3_128_hex(view.data, view.bytes);
    if (found != expected.xxh3_128) {
      return path + ": damaged, XXH3 hash is " + found + ", expected " + expected.xxh3_128;
    }
  }
  return {};
}

FileView open_checked(FileSystem& files, const std::string& folder, const std::string& name, const FileDigest& expected,
                      Verify verify) {
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
  FileBatch batch(files, folder);
  manifest.files[kModelFile] = batch.put_tensors(kModelFile, snapshot.model, snapshot.model_metadata);
  manifest.files[kOptimizerFile] = batch.put_tensors(kOptimizerFile, snapshot.optimizer, {});
  if (!snapshot.ema.empty()) manifest.files[kEmaFile] = batch.put_tensors(kEmaFile, snapshot.ema, {});
  if (!snapshot.coordinator.empty()) {
    manifest.files[kCoordinatorFile] = batch.put_tensors(kCoordinatorFile, snapshot.coordinator, {});
  }
  manifest.files[kStateFile] = batch.put_text(kStateFile, state_text(snapshot.state));
  std::string text = manifest_text(manifest);
  batch.put_text(kManifestFile, text);
  batch.finish();
  return text;
}

std::vector<std::string> check_files(FileSystem& files, const std::string& folder, const Manifest& manifest,
                                     Verify verify) {
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
    } else if (name == kEmaFile) {
      loaded.ema = SafetensorsFile(path, view).tensors();
    } else if (name == kCoordinatorFile) {
      loaded.coordinator = SafetensorsFile(path, view).tensors();
    }
  }
  return loaded;
}

}  // namespace stc::host
