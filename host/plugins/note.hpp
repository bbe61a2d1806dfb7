/// \file
/// Reading what a library says about itself without loading it. No LibTorch, no dlopen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stc/abi/plugin.h"

namespace stc::host {

struct NotePlugin {
  int kind = 0;
  std::string name;
  std::string version;
  std::string doc;
};

struct PluginNote {
  std::string path;
  uint32_t abi_major = 0;
  uint32_t abi_minor_built = 0;
  uint32_t abi_minor_required = 0;
  int level = 0;
  bool cxx11_abi = true;
  uint64_t torch_target = 0;
  std::string torch_version;
  std::string compiler, cuda, package, version, licence;
  std::vector<std::string> needed;  // DT_NEEDED
  std::vector<NotePlugin> plugins;
};

/// Gates that need only the file: regular file, ELF class and machine, every PT_LOAD inside the
/// file, the note, ABI major and minor. \throws PluginError: path, found, wanted, what to do.
PluginNote read_note(const std::string& path);

/// "plain", "stable", "exact"; "dataset", ... ; and back (0: unknown word).
const char* level_name(int level);
const char* kind_name(int kind);
int kind_from_name(const std::string& word);

}  // namespace stc::host
