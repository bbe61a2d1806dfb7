/* Preloaded into a run: makes calls on checkpoint files fail as a broken disk would, or take as long as a slow one.
 *
 * STC_SHIM_FAIL   which call: write, fsync, rename, open
 * STC_SHIM_ERRNO  the error, as a number
 * STC_SHIM_SLEEP  instead of an error: the call succeeds after so many milliseconds
 * STC_SHIM_PATH   only for paths that contain this
 * STC_SHIM_AFTER  the first so many of these calls succeed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static int fails(const char* call, const char* path) {
  const char* which = getenv("STC_SHIM_FAIL");
  const char* part = getenv("STC_SHIM_PATH");
  const char* after = getenv("STC_SHIM_AFTER");
  const char* number = getenv("STC_SHIM_ERRNO");
  const char* milliseconds = getenv("STC_SHIM_SLEEP");
  if (which == NULL || part == NULL || strcmp(which, call) != 0 || strstr(path, part) == NULL) return 0;
  if (atomic_fetch_add(&calls, 1) < (after == NULL ? 0 : atoi(after))) return 0;
  if (milliseconds != NULL) {
    struct timespec left = {atoi(milliseconds) / 1000, atoi(milliseconds) % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  }
  if (number == NULL) return 0;
  errno = atoi(number);
  return 1;
}

static int fd_fails(const char* call, int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return fails(call, path);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  static ssize_t (*real)(int, const void*, size_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "write");
  return fd_fails("write", fd) ? -1 : real(fd, data, bytes);
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "fsync");
  return fd_fails("fsync", fd) ? -1 : real(fd);
}

int rename(const char* from, const char* to) {
  static int (*real)(const char*, const char*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "rename");
  return fails("rename", to) ? -1 : real(from, to);
}

int open(const char* path, int flags, ...) {
  static int (*real)(const char*, int, ...);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "open");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (fails("open", path)) return -1;
  }
  return real(path, flags, mode);
}
