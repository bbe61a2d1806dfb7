#include "host/checkpoint/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace stc::host {
namespace {

constexpr uint64_t kLargestWrite = uint64_t{1} << 30;  // Linux transfers at most 2^31 - 4096 a call

std::string hint_for(int code) {
  if (code == ENOSPC || code == EDQUOT) return "free some space; earlier checkpoints are untouched";
  if (code == EACCES || code == EPERM) return "check the owner and the mode of the folder";
  if (code == EFBIG) return "raise the limit of file sizes (ulimit -f)";
  return {};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class DiskFile : public OutputFile {
 public:
  explicit DiskFile(std::string path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (fd_.get() < 0) throw FileError(path_, "create", errno);
  }

  void write(const void* data, uint64_t bytes) override {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t done = ::write(fd_.get(), at, std::min(bytes, kLargestWrite));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) throw FileError(path_, "write", errno);
      if (done == 0) throw FileError(path_, "write", ENOSPC);
      at += done;
      bytes -= static_cast<uint64_t>(done);
    }
  }

  void sync() override {
    while (::fsync(fd_.get()) != 0) {
      if (errno != EINTR) throw FileError(path_, "sync", errno);
    }
  }

  void close() override {
    const int fd = fd_.release();
    // After EINTR the descriptor is gone on Linux: a second close could hit another thread's file.
    if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw FileError(path_, "close", errno);
  }

 private:
  std::string path_;
  Descriptor fd_;
};

class DiskLock : public FileLock {
 public:
  explicit DiskLock(int fd) : fd_(fd) {}

 private:
  Descriptor fd_;
};

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::kFile;
  if (S_ISDIR(mode)) return EntryKind::kDirectory;
  if (S_ISLNK(mode)) return EntryKind::kLink;
  return EntryKind::kOther;
}

FileView map_disk_file(const std::string& path) {
  // Non-blocking, so that a pipe under a checkpoint's name cannot hang the program.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0 && errno == ELOOP) {
    throw CheckpointError(path + ": a symbolic link, expected a file");
  }
  if (fd.get() < 0) throw FileError(path, "open", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw FileError(path, "stat", errno);
  if (!S_ISREG(status.st_mode)) throw CheckpointError(path + ": not a regular file");
  FileView view;
  view.bytes = static_cast<uint64_t>(status.st_size);
  if (view.bytes == 0) return view;
  void* data = ::mmap(nullptr, view.bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) throw FileError(path, "map", errno);
  const uint64_t bytes = view.bytes;
  view.owner =
      std::shared_ptr<const void>(data, [bytes](const void* start) { ::munmap(const_cast<void*>(start), bytes); });
  view.data = static_cast<const uint8_t*>(data);
  return view;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0) return "unknown host";
  return name;
}

std::string read_holder(int fd) {
  char text[400] = {};
  const ssize_t bytes = ::pread(fd, text, sizeof(text) - 1, 0);
  std::string holder(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  holder.erase(std::find(holder.begin(), holder.end(), '\n'), holder.end());
  return holder;
}

class Disk : public FileSystem {
 public:
  std::unique_ptr<OutputFile> create(const std::string& path) override { return std::make_unique<DiskFile>(path); }

  void make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) == 0) return;
    const int code = errno;
    struct stat status {};
    if (code == EEXIST && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
    throw FileError(path, "create folder", code);
  }

  void sync_directory(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) throw FileError(path, "open folder", errno);
    while (::fsync(fd.get()) != 0) {
      // Some network file systems cannot sync a folder; their renames are durable by themselves.
      if (errno == EINVAL || errno == ENOTSUP || errno == EROFS) return;
      if (errno != EINTR) throw FileError(path, "sync folder", errno);
    }
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      throw FileError(to, "rename of " + from, errno);
    }
  }

  bool exchange(const std::string& a, const std::string& b) override {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
    throw FileError(b, "exchange with " + a, errno);
  }

  void remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) throw FileError(path, "remove", errno);
  }

  void remove_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) != 0) throw FileError(path, "remove folder", errno);
  }

  FileView map(const std::string& path) override { return map_disk_file(path); }

  std::vector<DirectoryEntry> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) throw FileError(path, "open folder", errno);
    std::unique_ptr<DIR, int (*)(DIR*)> guard(directory, ::closedir);
    std::vector<DirectoryEntry> entries;
    errno = 0;
    while (const dirent* item = ::readdir(directory)) {
      const std::string name = item->d_name;
      if (name != "." && name != "..") {
        const auto found = kind(join_path(path, name));
        if (found) entries.push_back({name, *found});  // else removed meanwhile
      }
      errno = 0;
    }
    if (errno != 0) throw FileError(path, "read folder", errno);
    std::sort(entries.begin(), entries.end(),
              [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
    return entries;
  }

  std::optional<EntryKind> kind(const std::string& path) override {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) return kind_of(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw FileError(path, "stat", errno);
  }

  int64_t modified_s(const std::string& path) override {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return 0;
    return status.st_mtime;
  }

  LockAttempt try_lock(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.get() < 0) throw FileError(path, "open", errno);
    LockAttempt attempt;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      attempt.supported = errno == EWOULDBLOCK;
      if (attempt.supported) attempt.holder = read_holder(fd.get());
      return attempt;
    }
    const std::string text = std::to_string(::getpid()) + " on " + host_name() + "\n";
    // For messages only; a full disk must not stop a run that could still be told about it.
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      attempt.holder.clear();
    }
    attempt.lock = std::make_unique<DiskLock>(fd.release());
    return attempt;
  }
};

}  // namespace

FileError::FileError(const std::string& path, const std::string& action, int code)
    : CheckpointError(path + ": " + action + " failed: " + std::generic_category().message(code), hint_for(code)),
      code_(code) {}

FileSystem& FileSystem::real() {
  static Disk disk;
  return disk;
}

void remove_tree(FileSystem& files, const std::string& path) {
  const auto kind = files.kind(path);
  if (!kind) return;
  if (*kind != EntryKind::kDirectory) {
    files.remove_file(path);
    return;
  }
  for (const DirectoryEntry& entry : files.list(path)) {
    remove_tree(files, join_path(path, entry.name));
  }
  files.remove_directory(path);
}

void make_directories(FileSystem& files, const std::string& path) {
  if (path.empty() || path == "/" || path == ".") return;
  const auto kind = files.kind(path);
  if (kind && *kind == EntryKind::kDirectory) return;
  const std::string parent = parent_of(path);
  make_directories(files, parent);
  files.make_directory(path);
  if (!kind) files.sync_directory(parent);
}

std::string parent_of(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

std::string join_path(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

void replace_file(FileSystem& files, const std::string& path, const std::string& temporary, const std::string& text) {
  const std::string directory = parent_of(path);
  const std::string beside = join_path(directory, temporary);
  {
    auto file = files.create(beside);
    file->write(text.data(), text.size());
    file->sync();
    file->close();
  }
  files.rename(beside, path);
  files.sync_directory(directory);
}

}  // namespace stc::host
