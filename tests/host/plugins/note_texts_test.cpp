// What the reader of libraries says about headers, segments and notes that are wrong, one at a time.

#include <elf.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"
#include "host/plugins/gates.hpp"

namespace {

using namespace stc::host;
using namespace stc::host::test;

template <class T>
T get(const Bytes& bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void put(Bytes& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

Bytes with_header(Bytes bytes, const std::function<void(Elf64_Ehdr&)>& change) {
  auto header = get<Elf64_Ehdr>(bytes, 0);
  change(header);
  put(bytes, 0, header);
  return bytes;
}

/// Each segment of a type.
Bytes with_segments(Bytes bytes, uint32_t type, const std::function<void(Elf64_Phdr&)>& change) {
  const auto header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    auto segment = get<Elf64_Phdr>(bytes, at);
    if (segment.p_type != type) continue;
    change(segment);
    put(bytes, at, segment);
  }
  return bytes;
}

/// Each entry of the dynamic section with a tag.
Bytes with_dynamic(Bytes bytes, int64_t tag, uint64_t value) {
  Elf64_Phdr dynamic{};
  with_segments(bytes, PT_DYNAMIC, [&](Elf64_Phdr& segment) { dynamic = segment; });
  for (size_t at = dynamic.p_offset; at < dynamic.p_offset + dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    auto entry = get<Elf64_Dyn>(bytes, at);
    if (entry.d_tag != tag) continue;
    entry.d_un.d_val = value;
    put(bytes, at, entry);
  }
  return bytes;
}

/// The header of our note of a type.
Bytes with_note_header(Bytes bytes, uint32_t type, const std::function<void(Elf64_Nhdr&)>& change) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) + sizeof STC_NOTE_NAME <= bytes.size(); at += 4) {
    auto header = get<Elf64_Nhdr>(bytes, at);
    const bool ours = std::memcmp(bytes.data() + at + sizeof header, STC_NOTE_NAME, sizeof STC_NOTE_NAME) == 0;
    if (header.n_namesz != sizeof STC_NOTE_NAME || header.n_type != type || !ours) continue;
    change(header);
    put(bytes, at, header);
    return bytes;
  }
  throw std::logic_error("the corpus library has no such note");
}

/// The segment of the stack becomes a second one of the same notes.
Bytes with_notes_twice(const Bytes& bytes) {
  Elf64_Phdr notes{};
  with_segments(bytes, PT_NOTE, [&](Elf64_Phdr& segment) {
    if (segment.p_filesz > sizeof(stc_note_library)) notes = segment;
  });
  return with_segments(bytes, PT_GNU_STACK, [&](Elf64_Phdr& segment) { segment = notes; });
}

struct Wrong {
  const char* description;
  std::function<Bytes(const Bytes&)> change;
  std::string said;
  const char* hint;
};

constexpr const char* kIncomplete = "copy or build the file again: it is incomplete or damaged";
constexpr const char* kRebuild = "rebuild it with the macros of stc-sdk, which write the note";

std::vector<Wrong> wrong_segments(uint64_t size) {
  const auto beyond = [size](Elf64_Phdr& segment) { segment.p_offset = size; };
  const auto none = [](Elf64_Phdr& segment) { segment.p_type = PT_NULL; };
  return {
      {"the other byte order",
       [](const Bytes& b) { return with_header(b, [](auto& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }); },
       "has the other byte order, wanted that of ", "build it for "},
      {"no program header", [](const Bytes& b) { return with_header(b, [](auto& h) { h.e_phnum = 0; }); },
       "has 0 program headers of 56 bytes, wanted at least one of 56\n", kIncomplete},
      {"a segment beyond the end", [=](const Bytes& b) { return with_segments(b, PT_LOAD, beyond); },
       "a loaded segment reaches beyond the end of the file (" + std::to_string(size) +
           " bytes): the file is cut short\n",
       kIncomplete},
      {"a segment without memory",
       [](const Bytes& b) { return with_segments(b, PT_LOAD, [](auto& s) { s.p_memsz = 0; }); },
       "a loaded segment is larger in the file than in memory\n", kIncomplete},
      {"nothing to load", [=](const Bytes& b) { return with_segments(b, PT_LOAD, none); }, "has no loaded segment\n",
       kIncomplete},
      {"no dynamic section", [=](const Bytes& b) { return with_segments(b, PT_DYNAMIC, none); },
       "has no dynamic section, wanted a shared library\n", "link it with -shared"},
      {"a dynamic section beyond the end", [=](const Bytes& b) { return with_segments(b, PT_DYNAMIC, beyond); },
       "the dynamic section reaches beyond the end of the file\n", kIncomplete},
      {"notes beyond the end", [=](const Bytes& b) { return with_segments(b, PT_NOTE, beyond); },
       "a note segment reaches beyond the end of the file\n", kIncomplete},
      {"a string table elsewhere", [](const Bytes& b) { return with_dynamic(b, DT_STRTAB, UINT64_MAX / 2); },
       "the string table of the dynamic section lies outside of the file\n", kIncomplete},
      {"a needed library elsewhere", [](const Bytes& b) { return with_dynamic(b, DT_NEEDED, UINT32_MAX); },
       "a DT_NEEDED entry points outside of the string table\n", kIncomplete},
  };
}

std::vector<Wrong> wrong_notes() {
  const auto short_desc = [](Elf64_Nhdr& header) { header.n_descsz = 8; };
  const auto of_type = [](uint32_t type) { return [type](Elf64_Nhdr& header) { header.n_type = type; }; };
  return {
      {"a short library note", [=](const Bytes& b) { return with_note_header(b, STC_NOTE_TYPE_LIBRARY, short_desc); },
       "its note has 8 bytes, wanted " + std::to_string(sizeof(stc_note_library)) + "\n", kRebuild},
      {"a short plugin note", [=](const Bytes& b) { return with_note_header(b, STC_NOTE_TYPE_PLUGIN, short_desc); },
       "the note of a plugin has 8 bytes, wanted " + std::to_string(sizeof(stc_note_plugin)) + "\n", kRebuild},
      {"two library notes", with_notes_twice, "has 2 library notes, wanted one\n",
       "use STC_PLUGIN_LIBRARY once for all plugins of the library"},
      {"no plugin note", [=](const Bytes& b) { return with_note_header(b, STC_NOTE_TYPE_PLUGIN, of_type(99)); },
       "its note names no plugin, wanted at least one\n", kRebuild},
      {"a level that is none", [](const Bytes& b) { return with_note(b, [](auto& n) { n.level = 4; }); },
       "level 4 in its note, wanted 1 (plain), 2 (stable) or 3 (exact)\n", kRebuild},
  };
}

void check_each(const std::vector<Wrong>& all, const Bytes& good) {
  const TempFolder folder;
  for (const Wrong& wrong : all) {
    BOOST_TEST_CONTEXT(wrong.description) {
      write_bytes(folder / "x.so", wrong.change(good));
      const std::string error = error_of([&] { read_note(folder / "x.so"); });
      BOOST_TEST(error.starts_with("error: plugin " + folder.path() + "/x.so: " + wrong.said), error);
      BOOST_TEST(error.find(std::string("\n  hint: ") + wrong.hint) != std::string::npos, error);
    }
  }
}

BOOST_AUTO_TEST_SUITE(note_texts)

BOOST_AUTO_TEST_CASE(of_headers_and_segments) {
  const Bytes good = read_bytes(corpus("missing_dependency"));  // needs a library
  check_each(wrong_segments(good.size()), good);
}

BOOST_AUTO_TEST_CASE(of_notes) { check_each(wrong_notes(), read_bytes(corpus("good"))); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
