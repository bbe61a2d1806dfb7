#include "host/checkpoint/store.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "host/checkpoint/checkpoint_folder.hpp"
#include "host/checkpoint/folder.hpp"
#include "host/checkpoint/layout.hpp"

namespace stc::host {
namespace {

/// Without "." and trailing slashes, links resolved: renaming a linked folder aside must not leave
/// the link, and with it the next checkpoints, on another disk.
std::string real_directory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error) real = fs::absolute(path, error).lexically_normal();
  std::string text = real.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

/// Blocks all signals for the thread made in its scope: they belong to the training thread. It also
/// turns a write beyond the file-size limit (SIGXFSZ) into an error.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct CheckpointStore::Impl {
  // Constant while the writer runs.
  StoreOptions options;
  FileSystem& files;
  std::string directory;  // as given, for messages and results
  std::string run_id;     // empty until begin_*
  std::unique_ptr<FileLock> lock;

  // Guarded by mutex.
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Snapshot> pending;
  bool writing = false;
  bool stopping = false;
  std::vector<SaveResult> results;

  std::thread writer;

  Impl(StoreOptions given, FileSystem& disk) : options(std::move(given)), files(disk) {
    directory = options.directory.empty() ? "." : options.directory;
  }

  void take(const std::string& id);
  void start_writer();
  void write_loop();
  SaveResult write(const Snapshot& snapshot);
  bool same_as_existing(const std::string& folder, const std::string& text) const;
  void put_in_place(const std::string& temporary, const std::string& folder, const std::string& text);
  void move_stranger_aside(const std::string& folder);
  void remove_quietly(const std::string& path);
  void clear_own_temporaries();
};

/// The end of begin_*: leftovers go, the folder is marked.
void CheckpointStore::Impl::take(const std::string& id) {
  remove_leftovers(files, directory);
  if (read_run_file(files, directory) != id) write_run_file(files, directory, id);
  run_id = id;
}

void CheckpointStore::Impl::start_writer() {
  if (writer.joinable()) return;
  const BlockedSignals blocked;
  writer = std::thread([this] { write_loop(); });
}

void CheckpointStore::Impl::write_loop() {
  std::unique_lock<std::mutex> guard(mutex);
  while (true) {
    changed.wait(guard, [this] { return pending.has_value() || stopping; });
    if (!pending) return;
    SaveResult result;
    {
      const Snapshot snapshot = std::move(*pending);
      pending.reset();
      writing = true;
      guard.unlock();
      result = write(snapshot);
    }  // the copies are freed before the next save may begin
    guard.lock();
    results.push_back(std::move(result));
    writing = false;
    changed.notify_all();
  }
}

SaveResult CheckpointStore::Impl::write(const Snapshot& snapshot) {
  SaveResult result;
  result.step = snapshot.step;
  std::string temporary;
  try {
    const std::string name = step_folder_name(snapshot.step);
    result.path = join_path(directory, name);
    clear_own_temporaries();
    temporary = join_path(directory, temporary_name(::getpid(), std::to_string(snapshot.step)));
    files.make_directory(temporary);
    const std::string text = write_checkpoint(files, temporary, snapshot, run_id, options.version);
    put_in_place(temporary, result.path, text);
    replace_file(files, join_path(directory, kLatestFile), temporary_name(::getpid(), kLatestFile),
                 pointer_text(snapshot.step));
  } catch (const std::exception& error) {
    result.error = error.what();
    if (!temporary.empty()) remove_quietly(temporary);  // gives a full disk its space back
    return result;
  }
  try {
    if (snapshot.best) {
      replace_file(files, join_path(directory, kBestFile), temporary_name(::getpid(), kBestFile),
                   pointer_text(snapshot.step));
    }
    const std::optional<uint64_t> best = read_pointer(files, directory, kBestFile).step;
    rotate(files, directory, {run_id, snapshot.step, options.keep_last, options.keep_every, best});
  } catch (const std::exception& error) {
    result.warning = error.what();
  }
  return result;
}

/// Whether the folder is a valid checkpoint with just this manifest.
bool CheckpointStore::Impl::same_as_existing(const std::string& folder, const std::string& text) const {
  try {
    const Manifest manifest = read_folder_manifest(files, folder);
    return manifest_text(manifest) == text && check_files(files, folder, manifest, Verify::kHashes).empty();
  } catch (const CheckpointError&) {
    return false;
  }
}

void CheckpointStore::Impl::put_in_place(const std::string& temporary, const std::string& folder,
                                         const std::string& text) {
  move_stranger_aside(folder);
  if (same_as_existing(folder, text)) {
    remove_quietly(temporary);
    return;
  }
  if (!files.kind(folder)) {
    files.rename(temporary, folder);
    files.sync_directory(directory);
  } else if (files.exchange(temporary, folder)) {
    files.sync_directory(directory);
    remove_quietly(temporary);  // holds the former content now
  } else {
    const std::string away = temporary + "-replaced";
    files.rename(folder, away);
    files.rename(temporary, folder);
    files.sync_directory(directory);
    remove_quietly(away);
  }
}

/// A checkpoint of another run that somebody put here is not ours to replace.
void CheckpointStore::Impl::move_stranger_aside(const std::string& folder) {
  if (!files.kind(folder)) return;
  std::string owner;
  try {
    owner = read_folder_manifest(files, folder).run_id;
  } catch (const CheckpointError&) {
    return;  // damaged: a save of this run that was never whole
  }
  if (owner != run_id) files.rename(folder, free_archive_name(files, folder, owner));
}

/// What stays is removed by the next save or the next run.
void CheckpointStore::Impl::remove_quietly(const std::string& path) {
  try {
    remove_tree(files, path);
  } catch (const FileError&) {
    return;
  }
}

/// Only one save is under way, so whatever bears this process's number is a failed one's.
void CheckpointStore::Impl::clear_own_temporaries() {
  for (const std::string& name : scan_folder(files, directory).temporaries) {
    if (temporary_owner(name) == ::getpid()) remove_tree(files, join_path(directory, name));
  }
}

CheckpointStore::CheckpointStore(StoreOptions options, FileSystem& files)
    : impl_(std::make_unique<Impl>(std::move(options), files)) {}

CheckpointStore::~CheckpointStore() {
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->changed.notify_all();
  if (impl_->writer.joinable()) impl_->writer.join();
}

void CheckpointStore::claim() {
  Impl& self = *impl_;
  make_directories(self.files, self.directory);
  refuse_legacy(self.directory, scan_folder(self.files, self.directory));
  self.lock = lock_folder(self.files, self.directory);
}

bool CheckpointStore::holds_steps() const { return !scan_folder(impl_->files, impl_->directory).steps.empty(); }

void CheckpointStore::begin_new(const std::string& run_id, const Note& note) {
  if (!is_run_id(run_id)) {
    throw CheckpointError("run id " + run_id + ": expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  Impl& self = *impl_;
  if (!self.lock) claim();
  const FolderContents contents = scan_folder(self.files, self.directory);
  if (!contents.steps.empty()) {
    const std::string real = real_directory(self.directory);
    const std::string archive = archive_folder(self.files, real, contents);
    note(self.directory + ": holds checkpoints of another run, kept as " + archive);
    make_directories(self.files, real);
    self.lock.reset();
    self.lock = lock_folder(self.files, self.directory);
  }
  for (const char* name : {kLatestFile, kBestFile}) {
    const std::string pointer = join_path(self.directory, name);
    if (self.files.kind(pointer)) self.files.remove_file(pointer);  // points to nothing
  }
  self.take(run_id);
}

std::optional<LoadedCheckpoint> CheckpointStore::open_latest(const Note& note) {
  return open_newest(
      impl_->files, impl_->directory, note ? note : [](const std::string&) {});
}

std::string CheckpointStore::run_id() const { return folder_run_id(impl_->files, impl_->directory); }

void CheckpointStore::begin_resumed(const std::string& run_id) {
  if (!is_run_id(run_id)) {
    throw CheckpointError("run id " + run_id + ": expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  Impl& self = *impl_;
  make_directories(self.files, self.directory);
  self.lock = lock_folder(self.files, self.directory);
  const std::string found = folder_run_id(self.files, self.directory);
  if (!found.empty() && found != run_id) {
    throw CheckpointError(self.directory + ": belongs to run " + found + ", expected run " + run_id,
                          "another process may have begun a new run here");
  }
  self.take(run_id);
}

void CheckpointStore::save(Snapshot snapshot) {
  Impl& self = *impl_;
  if (self.run_id.empty()) {
    throw std::logic_error("CheckpointStore::save before begin_new or begin_resumed");
  }
  std::unique_lock<std::mutex> guard(self.mutex);
  self.changed.wait(guard, [&self] { return !self.pending && !self.writing; });
  try {
    self.start_writer();
  } catch (const std::system_error&) {  // no more threads: slower, but saved
    self.results.push_back(self.write(snapshot));
    return;
  }
  self.pending = std::move(snapshot);
  guard.unlock();
  self.changed.notify_all();
}

std::vector<SaveResult> CheckpointStore::poll() {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return std::exchange(impl_->results, {});
}

std::vector<SaveResult> CheckpointStore::finish() {
  std::unique_lock<std::mutex> guard(impl_->mutex);
  impl_->changed.wait(guard, [this] { return !impl_->pending && !impl_->writing; });
  return std::exchange(impl_->results, {});
}

}  // namespace stc::host
