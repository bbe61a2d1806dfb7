/// \file
/// Every touch of the disk by the checkpoint room goes through FileSystem, so that tests can make
/// the n-th write, sync or rename fail.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/errors/error.hpp"

namespace stc::host {

/// A failed call of the operating system: "<path>: <action> failed: <reason>".
class FileError : public CheckpointError {
 public:
  FileError(const std::string& path, const std::string& action, int code);
  int code() const { return code_; }  // errno

 private:
  int code_;
};

/// A file opened for writing. Not synced by the destructor, which also drops errors of close.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  /// Writes all bytes. \throws FileError.
  virtual void write(const void* data, uint64_t bytes) = 0;
  /// Returns when the bytes are on the disk. \throws FileError.
  virtual void sync() = 0;
  /// \throws FileError, as network file systems report a full disk here.
  virtual void close() = 0;
};

/// The bytes of a file, mapped read-only. `data` is null for an empty file.
struct FileView {
  std::shared_ptr<const void> owner;  // keeps data mapped
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

enum class EntryKind { kFile, kDirectory, kLink, kOther };

struct DirectoryEntry {
  std::string name;
  EntryKind kind = EntryKind::kOther;
};

/// Held until destroyed. The lock belongs to the process that holds it and ends with it.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// What an attempt to lock found.
struct LockAttempt {
  std::unique_ptr<FileLock> lock;  // null: held by another, or locks are not supported here
  std::string holder;              // what the holder wrote about itself ("4711 on node3")
  bool supported = true;           // false: this file system has no locks
};

/// All methods throw FileError unless they say otherwise. [any-thread]
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// The disk itself.
  static FileSystem& real();

  /// A new or emptied file. A symbolic link at `path` is refused.
  virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;
  /// One level; an existing directory is no error.
  virtual void make_directory(const std::string& path) = 0;
  /// Makes creations, renames and removals inside `path` durable.
  virtual void sync_directory(const std::string& path) = 0;
  /// Replaces a file at `to`.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Swaps two paths in one atomic move. False where the file system cannot.
  virtual bool exchange(const std::string& a, const std::string& b) = 0;
  virtual void remove_file(const std::string& path) = 0;
  /// An empty directory.
  virtual void remove_directory(const std::string& path) = 0;

  /// A regular file only: a directory, a link, a device or a pipe is refused without being read.
  virtual FileView map(const std::string& path) = 0;
  /// Entries by name, without "." and "..".
  virtual std::vector<DirectoryEntry> list(const std::string& path) = 0;
  /// nullopt: nothing is there. Links are not followed.
  virtual std::optional<EntryKind> kind(const std::string& path) = 0;
  /// Last change in seconds since 1970; 0 when unknown.
  virtual int64_t modified_s(const std::string& path) = 0;

  /// Locks the file at `path` (created when absent) without waiting.
  virtual LockAttempt try_lock(const std::string& path) = 0;
};

/// Removes a file, a link, or a directory with all below it; links are not followed. Absent:
/// nothing.
void remove_tree(FileSystem& files, const std::string& path);

/// Creates `path` and the directories above it.
void make_directories(FileSystem& files, const std::string& path);

/// The directory that holds `path` ("." for a plain name).
std::string parent_of(const std::string& path);

/// `directory`/`name`.
std::string join_path(const std::string& directory, const std::string& name);

/// Writes `text` beside `path` under the name `temporary`, syncs it, renames it over `path` and
/// syncs the directory: after a crash the old or the new content is there, whole.
void replace_file(FileSystem& files, const std::string& path, const std::string& temporary, const std::string& text);

}  // namespace stc::host
