# Sourced by tools/setup, tools/run and tools/test: where things are, and how they are built.

STC_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
STC_BUILD="${STC_BUILD:-$STC_ROOT/build}"
case "$STC_BUILD" in
  /*) ;;
  *) STC_BUILD="$PWD/$STC_BUILD" ;;
esac
STC_TORCH_VERSION=2.13.0
# The compiler cache stays in the tree unless the user has one of their own.
export CCACHE_DIR="${CCACHE_DIR:-$STC_ROOT/.cache/ccache}"

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# stop MESSAGE [HINT]
stop() {
  printf 'error: %s\n' "$1" >&2
  if [ $# -gt 1 ]; then printf '  hint: %s\n' "$2" >&2; fi
  exit 1
}

# As many jobs as there are cores, but no more than 1.5 GB each allow: a file on LibTorch needs up to 1.4 GB.
build_jobs() {
  local cores memory_kb by_memory
  cores="$(nproc)"
  memory_kb="$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)"
  by_memory=$((memory_kb / 1500000))
  if [ "$by_memory" -lt 1 ]; then by_memory=1; fi
  echo $((cores < by_memory ? cores : by_memory))
}

# quietly LOG MESSAGE COMMAND...: runs it with its output in LOG, which is shown when it fails.
quietly() {
  local log="$1" message="$2"
  shift 2
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    stop "$message failed; all of its output is in $log"
  fi
}

# configure [-DNAME=VALUE...]
configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release)
  if [ -n "${STC_LIBTORCH_ROOT:-}" ]; then options+=("-DSTC_LIBTORCH_ROOT=$STC_LIBTORCH_ROOT"); fi
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  # A folder that was moved, or configured from another tree, cannot be used again.
  if [ -f "$STC_BUILD/CMakeCache.txt" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$STC_ROOT" "$STC_BUILD/CMakeCache.txt"; then
    stop "$STC_BUILD was configured from another source folder" "remove it, or name another one in STC_BUILD"
  fi
  say "configuring $STC_BUILD"
  quietly "$STC_BUILD/configure.log" "cmake" cmake -G Ninja -S "$STC_ROOT" -B "$STC_BUILD" "${options[@]}" "$@"
}

# build [TARGET...]: says nothing when everything is up to date.
build() {
  local jobs
  jobs="$(build_jobs)"
  if [ "$(ninja -C "$STC_BUILD" -n "$@" 2>/dev/null | tail -n 1)" = "ninja: no work to do." ]; then return; fi
  say "building with $jobs jobs (the first time takes some minutes)"
  if ! ninja -C "$STC_BUILD" -j "$jobs" "$@" >&2; then stop "the build failed"; fi
}
