#include "corpus_support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace stc::host::test {
namespace {

namespace fs = std::filesystem;

/// Offset of the desc of our note of a type: the bytes namesz, descsz, type, "STC\0".
size_t find_note(const Bytes& file, uint32_t descsz, uint32_t type) {
  struct {
    uint32_t namesz, descsz, type;
    char name[4];
  } head{sizeof(STC_NOTE_NAME), descsz, type, STC_NOTE_NAME};
  const auto* begin = reinterpret_cast<const char*>(&head);
  const auto at = std::search(file.begin(), file.end(), begin, begin + sizeof head);
  if (at == file.end()) throw std::logic_error("the corpus library has no note");
  return static_cast<size_t>(at - file.begin()) + sizeof head;
}

template <class Desc>
Bytes changed(Bytes file, uint32_t type, const std::function<void(Desc&)>& change) {
  const size_t at = find_note(file, sizeof(Desc), type);
  Desc desc{};
  std::memcpy(&desc, file.data() + at, sizeof desc);
  change(desc);
  std::memcpy(file.data() + at, &desc, sizeof desc);
  return file;
}

}  // namespace

std::string corpus(const std::string& name) { return std::string(STC_TEST_CORPUS) + "/stc_sink_" + name + ".so"; }

Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::logic_error("cannot read " + path);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

void write_bytes(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::logic_error("cannot write " + path);
}

Bytes with_note(Bytes file, const std::function<void(stc_note_library&)>& change) {
  return changed<stc_note_library>(std::move(file), STC_NOTE_TYPE_LIBRARY, change);
}
Bytes with_plugin_note(Bytes file, const std::function<void(stc_note_plugin&)>& change) {
  return changed<stc_note_plugin>(std::move(file), STC_NOTE_TYPE_PLUGIN, change);
}

ChildResult run_in_child(const std::function<void()>& action) {
  constexpr int kReturned = 77;
  int ends[2];
  if (::pipe(ends) != 0) throw std::logic_error("pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    // The test framework's handlers would take a crash for its own.
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, SIG_DFL);
    ::alarm(20);
    try {
      action();
    } catch (...) {
      ::_exit(78);
    }
    ::_exit(kReturned);
  }
  ::close(ends[1]);
  ChildResult result;
  char piece[1024];
  for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;) result.err.append(piece, static_cast<size_t>(n));
  ::close(ends[0]);
  ::waitpid(pid, &result.status, 0);
  result.ended_itself = WIFEXITED(result.status) && WEXITSTATUS(result.status) == kReturned;
  return result;
}

}  // namespace stc::host::test
