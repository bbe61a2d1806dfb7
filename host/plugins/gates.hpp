/// \file
/// The gates between a file and its plugins, in the order in which they are passed:
/// ELF and segments (note.cpp) -> note -> ABI -> records -> level -> DT_NEEDED -> dlopen -> entry
/// -> table sizes -> required slots -> schemas (library.cpp, tables.cpp).
#pragma once

#include <cstdint>
#include <string>

#include "stc/version.hpp"

#include "host/errors/error.hpp"
#include "host/plugins/note.hpp"

namespace stc::host {

/// A readable library without a note: not a plugin.
class NoNoteError : public PluginError {
  using PluginError::PluginError;
};

/// Reads the note; no gate behind it. \throws PluginError, NoNoteError.
PluginNote parse_note(const std::string& path);

/// The ABI rule: before the freeze (major 0) the same minor; after it the host's minor at least the
/// plugin's required one. \throws PluginError.
void check_abi(const PluginNote& note);

/// Level known; at least one plugin; kinds known; names [a-z][a-z0-9_]*, none twice. \throws
/// PluginError.
void check_records(const PluginNote& note);

/// The LibTorch inside this process. Empty version: none.
struct TorchRuntime {
  std::string version;  // "2.13.0"
  uint64_t packed = 0;  // major << 56 | minor << 48 | patch << 40
  bool cxx11_abi = true;
};
/// Told by the training half (version as TORCH_VERSION spells it); what LibTorch itself answers
/// wins.
void set_torch_runtime(const std::string& version);
/// What was told, completed or corrected by the LibTorch that is loaded, if one is.
TorchRuntime torch_runtime();

/// plain: no LibTorch in DT_NEEDED; stable: this LibTorch >= the target; exact: the same version
/// and C++ ABI flag. \throws PluginError.
void check_level(const PluginNote& note, const TorchRuntime& runtime);

/// Each needed library of LibTorch must be loaded already: a second copy in one process ends it.
/// \throws PluginError.
void check_needed(const PluginNote& note);

/// "any host of ABI 0.1", "LibTorch >= 2.10", "only LibTorch 2.13.0": which hosts load it.
std::string loads_in(const PluginNote& note);

/// "2.10" of major << 56 | minor << 48.
std::string torch_target_text(uint64_t packed);

}  // namespace stc::host
