// Any bytes as a library: a PluginError, or a note whose texts lie within the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/plugins/gates.hpp"
#include "host/plugins/note.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stc::host;
  static const int file = ::memfd_create("library", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const PluginNote note = read_note(path);
    uint64_t bytes = note.package.size() + note.version.size() + note.compiler.size();
    for (const NotePlugin& plugin : note.plugins)
      bytes += plugin.name.size() + plugin.doc.size() + plugin.version.size();
    if (bytes > 4 * size) std::abort();
  } catch (const PluginError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
