#include "host/checkpoint/folder.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>

#include "host/checkpoint/checkpoint_folder.hpp"

namespace stc::host {
namespace {

/// Seconds since 1970 at which a process began; nullopt when that cannot be told.
std::optional<int64_t> process_start_s(int64_t pid) {
  // proc(5): field 22 of /proc/<pid>/stat is the start in clock ticks after boot; field 2 may hold
  // spaces and brackets. btime of /proc/stat is the boot.
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(bracket + 1));
  fields.imbue(std::locale::classic());
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  int64_t ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  std::ifstream system("/proc/stat");
  system.imbue(std::locale::classic());
  std::string word;
  while (system >> word) {
    int64_t boot = 0;
    if (word == "btime" && system >> boot) return boot + ticks / ::sysconf(_SC_CLK_TCK);
  }
  return std::nullopt;
}

/// Whether the process named in a temporary may still be at work on it. A process that began after
/// the last change of the temporary only has the number of the one that made it.
bool may_be_alive(int64_t pid, int64_t modified_s) {
  constexpr int64_t kClockSlack_s = 2;
  if (pid <= 0 || pid == ::getpid()) return false;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  const auto start = process_start_s(pid);
  return !start || *start <= modified_s + kClockSlack_s;
}

}  // namespace

std::string folder_run_id(FileSystem& files, const std::string& directory) {
  if (auto id = read_run_file(files, directory)) return *id;
  for (const uint64_t step : scan_folder(files, directory).steps) {
    try {
      return read_folder_manifest(files, join_path(directory, step_folder_name(step))).run_id;
    } catch (const CheckpointError&) {
      continue;  // a damaged one tells nothing
    }
  }
  return {};
}

void refuse_legacy(const std::string& directory, const FolderContents& contents) {
  if (contents.legacy.empty() || !contents.steps.empty()) return;
  std::string names;
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < std::min(kShown, contents.legacy.size()); ++i) {
    names += (i == 0 ? "" : ", ") + contents.legacy[i];
  }
  if (contents.legacy.size() > kShown) {
    names += " and " + std::to_string(contents.legacy.size() - kShown) + " more";
  }
  throw CheckpointError(directory + ": " + names + ": checkpoints of Speedtronic 2.0.0, a format that is not read",
                        "set another run.output_dir or checkpoint.directory, or move these files away");
}

std::optional<LoadedCheckpoint> open_newest(FileSystem& files, const std::string& directory, const Note& note) {
  const FolderContents contents = scan_folder(files, directory);
  refuse_legacy(directory, contents);
  const Pointer pointer = read_pointer(files, directory, kLatestFile);
  std::vector<uint64_t> candidates = contents.steps;
  if (!pointer.problem.empty()) note(pointer.problem);
  if (pointer.step) {
    const auto found = std::find(candidates.begin(), candidates.end(), *pointer.step);
    if (found == candidates.end()) {
      note(join_path(directory, kLatestFile) + ": " + step_folder_name(*pointer.step) + " does not exist");
    } else {
      std::rotate(candidates.begin(), found, found + 1);  // first, the rest stay in order
    }
  } else if (!pointer.present && !candidates.empty()) {
    note(join_path(directory, kLatestFile) + ": missing, looking for the highest valid step");
  }
  const std::string run_id = folder_run_id(files, directory);
  for (const uint64_t step : candidates) {
    try {
      LoadedCheckpoint loaded = read_checkpoint(files, join_path(directory, step_folder_name(step)));
      if (loaded.run_id != run_id) {
        throw CheckpointError(loaded.path + ": belongs to run " + loaded.run_id + ", this folder to run " + run_id);
      }
      if (pointer.step == step && step < contents.steps.front()) {
        note(join_path(directory, kLatestFile) + ": points to step " + std::to_string(step) + ", later ones (up to " +
             std::to_string(contents.steps.front()) + ") are not used");
      }
      return loaded;
    } catch (const CheckpointError& error) {
      note("checkpoint of step " + std::to_string(step) + " is not used: " + error.what());
    }
  }
  return std::nullopt;
}

std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& directory) {
  LockAttempt attempt = files.try_lock(join_path(directory, kLockFile));
  if (!attempt.lock && attempt.supported) {
    throw CheckpointError(
        directory + ": in use by process " + (attempt.holder.empty() ? std::string("(unknown)") : attempt.holder),
        "wait for it to end, or set another run.output_dir");
  }
  return std::move(attempt.lock);
}

std::string free_archive_name(FileSystem& files, const std::string& path, const std::string& id) {
  const std::string base = path + "." + id;
  std::string name = base;
  for (int number = 2; files.kind(name); ++number) name = base + "." + std::to_string(number);
  return name;
}

std::string archive_folder(FileSystem& files, const std::string& directory, const FolderContents& contents) {
  const std::string id = folder_run_id(files, directory);
  const std::string target = free_archive_name(files, directory, id.empty() ? "unknown" : id);
  if (contents.foreign.empty()) {
    files.rename(directory, target);
  } else {
    // Other things live here too: only what is the old run's moves, its run.json last, so that a
    // move broken off in the middle is taken up again.
    files.make_directory(target);
    for (const uint64_t step : contents.steps) {
      const std::string name = step_folder_name(step);
      files.rename(join_path(directory, name), join_path(target, name));
    }
    for (const char* name : {kLatestFile, kBestFile, kRunFile}) {
      if (files.kind(join_path(directory, name))) {
        files.rename(join_path(directory, name), join_path(target, name));
      }
    }
    files.sync_directory(target);
    files.sync_directory(directory);
  }
  files.sync_directory(parent_of(directory));
  return target;
}

void remove_leftovers(FileSystem& files, const std::string& directory) {
  for (const std::string& name : scan_folder(files, directory).temporaries) {
    const std::string path = join_path(directory, name);
    if (may_be_alive(*temporary_owner(name), files.modified_s(path))) continue;
    try {
      remove_tree(files, path);
    } catch (const FileError&) {
      continue;  // the next run tries again
    }
  }
}

void write_run_file(FileSystem& files, const std::string& directory, const std::string& run_id) {
  replace_file(files, join_path(directory, kRunFile), temporary_name(::getpid(), kRunFile), run_file_text(run_id));
}

void rotate(FileSystem& files, const std::string& directory, const RotationRule& rule) {
  if (!rule.keep_last) return;
  const int64_t keep_last = std::max<int64_t>(*rule.keep_last, 1);
  int64_t kept = 0;
  std::vector<std::string> removed;
  for (const uint64_t step : scan_folder(files, directory).steps) {
    if (step > rule.saved_step) continue;
    const std::string folder = join_path(directory, step_folder_name(step));
    bool whole = false;
    try {
      const Manifest manifest = read_folder_manifest(files, folder);
      if (manifest.run_id != rule.run_id) continue;
      whole = check_files(files, folder, manifest, Verify::kSizes).empty();
    } catch (const CheckpointError&) {
      continue;  // whose it is cannot be told
    }
    const bool milestone =
        rule.keep_every && *rule.keep_every > 0 && step % static_cast<uint64_t>(*rule.keep_every) == 0;
    if (step == rule.saved_step || step == rule.best || milestone || kept < keep_last) {
      kept += whole ? 1 : 0;
      continue;
    }
    // Out of sight in one move first: a removal broken off in the middle leaves no half checkpoint.
    const std::string away = join_path(directory, temporary_name(::getpid(), "removed-" + std::to_string(step)));
    files.rename(folder, away);
    removed.push_back(away);
  }
  if (removed.empty()) return;
  files.sync_directory(directory);
  for (const std::string& path : removed) remove_tree(files, path);
}

}  // namespace stc::host
