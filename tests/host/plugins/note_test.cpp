// Reading a library without loading it: what is found, and that no file can hurt the reader.

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"
#include "host/plugins/gates.hpp"

namespace fs = std::filesystem;
using namespace stc::host;
using namespace stc::host::test;

BOOST_AUTO_TEST_SUITE(note)

BOOST_AUTO_TEST_CASE(tells_what_the_library_says) {
  const PluginNote note = read_note(corpus("good"));
  BOOST_TEST(note.abi_major == uint32_t{STC_ABI_MAJOR});
  BOOST_TEST(note.abi_minor_built == uint32_t{STC_ABI_MINOR});
  BOOST_TEST(note.level == STC_LEVEL_PLAIN);
  BOOST_TEST(note.package == "corpus");
  BOOST_TEST(note.version == "1.2.3");
  BOOST_TEST(note.licence == "Apache-2.0");
  BOOST_TEST_REQUIRE(note.plugins.size() == 1U);
  BOOST_TEST(note.plugins[0].kind == STC_KIND_SINK);
  BOOST_TEST(note.plugins[0].name == "good");
  BOOST_TEST(note.plugins[0].doc == "a sink that keeps nothing");
  const PluginNote dependent = read_note(corpus("missing_dependency"));
  BOOST_TEST(
      (std::find(dependent.needed.begin(), dependent.needed.end(), "libstc_test_absent.so") != dependent.needed.end()));
}

BOOST_AUTO_TEST_CASE(survives_strip) {
  const TempFolder folder;
  const std::string file = folder / "stripped.so";
  fs::copy_file(corpus("good"), file);
  BOOST_TEST_REQUIRE(std::system(("strip --strip-all " + file).c_str()) == 0);
  BOOST_TEST(read_note(file).plugins.at(0).name == "good");
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_library) {
  const TempFolder folder;
  const auto refusal = [&](const Bytes& bytes) {
    write_bytes(folder / "x.so", bytes);
    return error_of([&] { read_note(folder / "x.so"); });
  };
  const std::string start = "error: plugin " + folder.path() + "/x.so: ";
  const std::string no_elf = start +
                             "is not a shared library (no ELF header)\n"
                             "  hint: give the path of a .so file built with stc-sdk\n";
  BOOST_TEST(refusal({}) == no_elf);
  BOOST_TEST(refusal({'h', 'i'}) == no_elf);
  BOOST_TEST(refusal(Bytes(10000, 'x')) == no_elf);
  BOOST_TEST(refusal({0x7f, 'E', 'L', 'F', 2, 1, 1})
                 .starts_with(start + "the ELF header ends at byte 64, the file has 7 bytes"));
  BOOST_TEST(error_of([&] { read_note(folder / "absent.so"); }) ==
             "error: plugin " + folder.path() +
                 "/absent.so: cannot be opened: No such file or directory\n"
                 "  hint: check the path and its permissions\n");
  BOOST_TEST(error_of([&] { read_note(folder.path()); }).find("is not a regular file") != std::string::npos);
  BOOST_TEST_REQUIRE(::mkfifo((folder / "fifo.so").c_str(), 0600) == 0);
  BOOST_TEST(error_of([&] { read_note(folder / "fifo.so"); }).find("is not a regular file") != std::string::npos);
  BOOST_TEST(error_of([&] { read_note(corpus("no_note")); }) ==
             "error: plugin " + corpus("no_note") +
                 ": has no stc note: it is a library, but not a plugin of stc\n"
                 "  hint: build it with stc_add_plugin and a STC_<KIND>_PLUGIN macro of stc-sdk\n");
}

struct HeaderCase {
  const char* description;
  void (*change)(Elf64_Ehdr&);
  const char* found;
};

BOOST_AUTO_TEST_CASE(refuses_other_machines) {
  const HeaderCase cases[] = {
      {"aarch64", [](Elf64_Ehdr& h) { h.e_machine = EM_AARCH64; }, "built for aarch64, this host runs on"},
      {"unknown machine", [](Elf64_Ehdr& h) { h.e_machine = 999; }, "built for machine number 999"},
      {"32 bit", [](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }, "is a 32-bit library, wanted 64 bit"},
      {"class 9", [](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = 9; }, "has ELF class 9, wanted 2 (64 bit)"},
      {"byte order", [](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }, "has the other byte order"},
      {"object file", [](Elf64_Ehdr& h) { h.e_type = ET_REL; }, "of type 1, wanted 3 (a shared library)"},
      {"no segments", [](Elf64_Ehdr& h) { h.e_phnum = 0; }, "has 0 program headers"},
      {"too many segments", [](Elf64_Ehdr& h) { h.e_phnum = 65000; }, "the program header table ends at byte"},
      {"segment table far away", [](Elf64_Ehdr& h) { h.e_phoff = UINT64_MAX - 8; }, "ends at byte 2^64"},
  };
  const TempFolder folder;
  for (const HeaderCase& c : cases) {
    BOOST_TEST_CONTEXT(c.description) {
      Bytes bytes = read_bytes(corpus("good"));
      Elf64_Ehdr header{};
      std::memcpy(&header, bytes.data(), sizeof header);
      c.change(header);
      std::memcpy(bytes.data(), &header, sizeof header);
      write_bytes(folder / "x.so", bytes);
      const std::string error = error_of([&] { read_note(folder / "x.so"); });
      BOOST_TEST(error.find(c.found) != std::string::npos, error);
      BOOST_TEST(error.find("\n  hint: ") != std::string::npos, error);
    }
  }
}

/// End of the last loaded segment: the shortest length at which the file is whole for the loader.
size_t loaded_end(const Bytes& bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  size_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, bytes.data() + header.e_phoff + static_cast<size_t>(i) * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max(end, static_cast<size_t>(segment.p_offset + segment.p_filesz));
  }
  return end;
}

BOOST_AUTO_TEST_CASE(refuses_a_file_cut_at_any_length) {
  const TempFolder folder;
  const Bytes whole = read_bytes(corpus("good"));
  const size_t end = loaded_end(whole);
  BOOST_TEST_REQUIRE(end < whole.size());
  for (size_t length = 0; length < whole.size(); length += length < 4096 ? 7 : 61) {
    write_bytes(folder / "x.so", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    const std::string error = error_of([&] { read_note(folder / "x.so"); });
    BOOST_TEST(error.empty() == (length >= end), "length " << length << ": " << error);
  }
}

BOOST_AUTO_TEST_CASE(bears_any_flipped_byte) {
  const TempFolder folder;
  const Bytes whole = read_bytes(corpus("good"));
  std::mt19937_64 random(20260101);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = whole;
    const size_t flips = 1 + random() % 4;
    for (size_t i = 0; i < flips; ++i) {
      // Mostly in the headers and the note, where the reader looks.
      const size_t region = random() % 4 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 2048);
      bytes[random() % region] = static_cast<char>(random());
    }
    write_bytes(folder / "x.so", bytes);
    refused += error_of([&] { read_note(folder / "x.so"); }).empty() ? 0 : 1;  // any other exception fails the case
  }
  BOOST_TEST(refused > 300U);
}

BOOST_AUTO_TEST_CASE(refuses_damaged_notes) {
  const TempFolder folder;
  const Bytes good = read_bytes(corpus("good"));
  const auto refusal = [&](const Bytes& bytes) {
    write_bytes(folder / "x.so", bytes);
    return error_of([&] { read_note(folder / "x.so"); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  BOOST_TEST(has(refusal(with_note(good, [](auto& n) { n.note_version = 2; })), "note version 2, this host reads 1"));
  BOOST_TEST(has(refusal(with_note(good, [](auto& n) { n.level = 4; })), "level 4 in its note"));
  BOOST_TEST(has(refusal(with_note(good, [](auto& n) { std::memset(n.package, 'x', sizeof n.package); })),
                 "the note's package is not NUL-terminated"));
  BOOST_TEST(has(refusal(with_plugin_note(good, [](auto& n) { n.kind = 77; })), "has kind 77, this host knows 1 to 9"));
  BOOST_TEST(has(refusal(with_plugin_note(good, [](auto& n) { n.name[0] = 'G'; })), "plugin name \"Good\""));
  BOOST_TEST(has(refusal(with_plugin_note(good, [](auto& n) { n.name[0] = 0; })), "plugin name \"\""));
  BOOST_TEST(has(refusal(with_plugin_note(good, [](auto& n) { std::memset(n.doc, 'x', sizeof n.doc); })),
                 "the note's plugin doc line is not NUL-terminated"));
}

BOOST_AUTO_TEST_CASE(refuses_other_abi_versions) {
  const TempFolder folder;
  const Bytes good = read_bytes(corpus("good"));
  write_bytes(folder / "x.so", with_note(good, [](auto& n) { n.abi_minor_built = STC_ABI_MINOR + 1; }));
  BOOST_TEST(error_of([&] { read_note(folder / "x.so"); }) ==
             "error: plugin " + folder.path() +
                 "/x.so: built for stc ABI 0.2, host has 0.1\n"
                 "  hint: use a newer stc-host, or rebuild the plugin against stc-sdk " STC_VERSION
                 " (docs/guide/plugins.md)\n");
  write_bytes(folder / "x.so", with_note(good, [](auto& n) { n.abi_minor_built = 0; }));
  BOOST_TEST(error_of([&] { read_note(folder / "x.so"); }) == "error: plugin " + folder.path() +
                                                                  "/x.so: built for stc ABI 0.0, host has 0.1\n"
                                                                  "  hint: rebuild it against stc-sdk " STC_VERSION
                                                                  " (docs/guide/plugins.md)\n");
  write_bytes(folder / "x.so", with_note(good, [](auto& n) { n.abi_major = 3; }));
  BOOST_TEST(error_of([&] { read_note(folder / "x.so"); }).find("built for stc ABI 3.1, host has 0.1") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
