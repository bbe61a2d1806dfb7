#include "host/app/training_half.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "stc/version.hpp"

#include "host/plugins/search.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

std::string find_training_half() {
  const fs::path program = program_folder();
  std::string searched;
  for (const char* folder : {"../lib/stc", "../lib"}) {
    const fs::path file = (program / folder / "libstc_host.so").lexically_normal();
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file.string();
    searched += (searched.empty() ? "" : ", ") + file.parent_path().string();
  }
  throw Error("libstc_host.so: not found beside the program", "searched: " + searched + "; install stc-host again");
}

/// Threads of LibTorch's OpenMP runtime that wait for work spin for milliseconds by default. Beside any other
/// busy program that costs whole time slices: a training step became ten times slower. A short spin, then
/// sleep, costs nothing measurable on an idle machine. Read by the runtime when it is loaded; the user's own
/// setting wins.
void spin_briefly() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
}

}  // namespace

int run_in_training_half(const CommandLine& command_line) {
  spin_briefly();
  const std::string path = find_training_half();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw Error(path + ": cannot be loaded: " + (reason != nullptr ? reason : "no reason given"),
                "LibTorch must be where it was when stc-host was built or installed; build or "
                "install it again");
  }
  const auto entry = reinterpret_cast<decltype(&stc_host_main)>(dlsym(library, "stc_host_main"));
  if (entry == nullptr) throw Error(path + ": is no training half of stc-host", "build or install stc-host again");
  return entry(STC_VERSION, &command_line);
}

}  // namespace stc::host
