/// \file
/// The file that `stc-host tune` writes.
#pragma once

#include <string>
#include <vector>

#include "host/app/child_run.hpp"
#include "host/plugins/registry.hpp"

namespace stc::host {

/// The user's run file with what was found so far. Written anew after each change that is taken, whole at every moment,
/// so that a tune that is killed keeps it. One thread.
class TunedFile {
 public:
  /// Reads the run file: what becomes of it later changes nothing here. \throws Error when `path` does not end in .yaml
  /// or .yml, when something is there, or when nothing can be written there. Nothing stays behind.
  TunedFile(const TuneArguments& arguments, std::string path, Registry& registry);

  /// \param found  changes of the file beside those by the user's flags. \param lines  comments for its top.
  /// \throws Error when it cannot be written, or is no run file any more; then what was written before stays.
  void write(const KeyValues& found, const std::vector<std::string>& lines);

  /// Of the run file, as it was at the begin.
  const std::string& text() const { return text_; }
  const std::string& path() const { return path_; }
  bool written() const { return written_; }

 private:
  /// \returns why it could not; empty: it is there.
  std::string put(const std::string& text) const;

  const TuneArguments& arguments_;
  Registry& registry_;
  std::string text_, path_, beside_;  // beside_: where it is written first
  bool written_ = false;
};

/// The user's file with `changes` in it, a comment beside each changed one, `header` as comment lines at the top: its
/// text edited where edit_yaml can, else written anew with its keys in their order. \throws ConfigError when the file
/// is no mapping.
std::string tuned_yaml(const std::string& text, const KeyValues& changes, const std::vector<std::string>& header);

}  // namespace stc::host
