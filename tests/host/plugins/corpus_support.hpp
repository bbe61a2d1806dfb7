/// \file
/// The libraries of tests/host/plugins/corpus, and copies of them with bytes changed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stc/abi/plugin.h"

#include "host/errors/error.hpp"

#include "stc/testing/folder.hpp"

namespace stc::host::test {

using Bytes = std::vector<char>;

/// Path of stc_sink_<name>.so.
std::string corpus(const std::string& name);
Bytes read_bytes(const std::string& path);
void write_bytes(const std::string& path, const Bytes& bytes);

/// A folder that dies with the object.
class TempFolder {
 public:
  std::string operator/(const std::string& name) const { return path() + "/" + name; }
  std::string path() const { return folder_.path().string(); }

 private:
  stc::testing::Folder folder_;
};

/// Changes the library note inside a file of the corpus.
Bytes with_note(Bytes file, const std::function<void(stc_note_library&)>& change);
Bytes with_plugin_note(Bytes file, const std::function<void(stc_note_plugin&)>& change);

/// The error that `action` throws, rendered; "" when it throws none.
template <class Function>
std::string error_of(Function&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.render();
  }
  return {};
}

struct ChildResult {
  int status = 0;             // of waitpid
  std::string err;            // standard error
  bool ended_itself = false;  // the action returned
};
/// Runs the action in a fork of this process.
ChildResult run_in_child(const std::function<void()>& action);

}  // namespace stc::host::test
