#include "host/checkpoint/layout.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "host/checkpoint/json_text.hpp"

namespace stc::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStepPrefix = "step_";
constexpr size_t kStepDigits = 12;
constexpr uint64_t kLargestStep = 999'999'999'999;
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr uint64_t kLargestPointer = 4096;
constexpr const char* kRunFormat = "stc-run";

template <class Integer>
std::optional<Integer> parse_digits(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (text[0] < '0' || text[0] > '9') return std::nullopt;
  return value;
}

/// A small JSON object. \throws CheckpointError.
Json read_small_object(FileSystem& files, const std::string& path) {
  const FileView view = files.map(path);
  if (view.bytes > kLargestPointer) {
    throw CheckpointError(path + ": " + std::to_string(view.bytes) + " bytes, at most " +
                          std::to_string(kLargestPointer));
  }
  const std::string_view text(reinterpret_cast<const char*>(view.data), view.bytes);
  Json value = parse_json_strictly(path, text, 2);
  if (!value.is_object()) throw CheckpointError(path + ": not an object");
  return value;
}

bool is_legacy(std::string_view name) {
  return name.size() > 8 && name.starts_with(kStepPrefix) && name.ends_with(".pt");
}

}  // namespace

std::string step_folder_name(uint64_t step) {
  if (step > kLargestStep) {
    throw CheckpointError("step " + std::to_string(step) + ": a checkpoint's name has 12 digits");
  }
  const std::string digits = std::to_string(step);
  return std::string(kStepPrefix) + std::string(kStepDigits - digits.size(), '0') + digits;
}

std::optional<uint64_t> parse_step_folder_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix) || name.size() != kStepPrefix.size() + kStepDigits) {
    return std::nullopt;
  }
  return parse_digits<uint64_t>(name.substr(kStepPrefix.size()));
}

std::string temporary_name(int64_t pid, std::string_view what) {
  return std::string(kTemporaryPrefix) + std::to_string(pid) + "-" + std::string(what);
}

std::optional<int64_t> temporary_owner(std::string_view name) {
  if (!name.starts_with(kTemporaryPrefix)) return std::nullopt;
  name.remove_prefix(kTemporaryPrefix.size());
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return std::nullopt;
  return parse_digits<int64_t>(name.substr(0, dash));
}

bool is_run_id(std::string_view text) {
  if (text.empty() || text.size() > 64 || text[0] == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

FolderContents scan_folder(FileSystem& files, const std::string& directory) {
  FolderContents contents;
  if (!files.kind(directory)) return contents;
  for (const DirectoryEntry& entry : files.list(directory)) {
    const auto step = parse_step_folder_name(entry.name);
    if (step && entry.kind == EntryKind::kDirectory) {
      contents.steps.push_back(*step);
    } else if (is_legacy(entry.name) && entry.kind != EntryKind::kDirectory) {
      contents.legacy.push_back(entry.name);
    } else if (temporary_owner(entry.name)) {
      contents.temporaries.push_back(entry.name);
    } else if (entry.name == kRunFile) {
      contents.has_run_file = true;
    } else if (entry.name != kLatestFile && entry.name != kBestFile && entry.name != kLockFile) {
      contents.foreign.push_back(entry.name);
    }
  }
  std::sort(contents.steps.rbegin(), contents.steps.rend());
  return contents;
}

Pointer read_pointer(FileSystem& files, const std::string& directory, const char* name) {
  const std::string path = join_path(directory, name);
  Pointer pointer;
  try {
    if (!files.kind(path)) return pointer;
    pointer.present = true;
    const Json value = read_small_object(files, path);
    const Json file = value.value("file", Json());
    const auto step = file.is_string() ? parse_step_folder_name(file.get_ref<const std::string&>()) : std::nullopt;
    if (!step) {
      throw CheckpointError(path + ": file " + file.dump() + ", expected a name like " + step_folder_name(42));
    }
    const Json written = value.value("step", Json());
    if (!written.is_number_unsigned() || written.get<uint64_t>() != *step) {
      throw CheckpointError(path + ": step " + written.dump() + ", file " + file.dump());
    }
    pointer.step = step;
  } catch (const CheckpointError& error) {
    pointer.problem = error.what();
  }
  return pointer;
}

std::string pointer_text(uint64_t step) { return Json{{"step", step}, {"file", step_folder_name(step)}}.dump() + "\n"; }

std::optional<std::string> read_run_file(FileSystem& files, const std::string& directory) {
  const std::string path = join_path(directory, kRunFile);
  try {
    if (!files.kind(path)) return std::nullopt;
    const Json value = read_small_object(files, path);
    const Json run_id = value.value("run_id", Json());
    if (value.value("format", Json()) != kRunFormat || !run_id.is_string()) return std::nullopt;
    if (!is_run_id(run_id.get_ref<const std::string&>())) return std::nullopt;
    return run_id.get<std::string>();
  } catch (const CheckpointError&) {
    return std::nullopt;
  }
}

std::string run_file_text(const std::string& run_id) {
  return Json{{"format", kRunFormat}, {"format_version", 1}, {"run_id", run_id}}.dump() + "\n";
}

}  // namespace stc::host
