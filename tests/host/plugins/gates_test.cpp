// The rules on notes alone: levels, LibTorch, records.

#include "host/plugins/gates.hpp"

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

constexpr uint64_t torch_number(uint64_t major, uint64_t minor, uint64_t patch = 0) {
  return major << 56U | minor << 48U | patch << 40U;
}

PluginNote note_of(int level) {
  PluginNote note;
  note.path = "p.so";
  note.level = level;
  note.torch_target = torch_number(2, 10);
  note.torch_version = "2.13.0";
  note.cxx11_abi = true;
  note.abi_major = STC_ABI_MAJOR;
  note.abi_minor_built = note.abi_minor_required = STC_ABI_MINOR;
  note.plugins.push_back({STC_KIND_MODEL, "m", "1.0", "a model"});
  return note;
}

const TorchRuntime kTorch{"2.13.0", torch_number(2, 13), true};

}  // namespace

BOOST_AUTO_TEST_SUITE(gates)

BOOST_AUTO_TEST_CASE(plain_wants_nothing_of_libtorch) {
  PluginNote note = note_of(STC_LEVEL_PLAIN);
  note.needed = {"libstdc++.so.6", "libc.so.6"};
  BOOST_TEST(error_of([&] { check_level(note, {}); }).empty());
  note.needed.push_back("libtorch_cpu.so");
  BOOST_TEST(error_of([&] { check_level(note, kTorch); }) ==
             "error: plugin p.so: says level plain, but needs libtorch_cpu.so; plain plugins use "
             "nothing of LibTorch\n"
             "  hint: build it with LEVEL stable or LEVEL exact\n");
}

BOOST_AUTO_TEST_CASE(stable_wants_its_target_or_newer) {
  PluginNote note = note_of(STC_LEVEL_STABLE);
  BOOST_TEST(error_of([&] { check_level(note, kTorch); }).empty());
  note.torch_target = torch_number(2, 13);
  BOOST_TEST(error_of([&] { check_level(note, kTorch); }).empty());
  note.torch_target = torch_number(2, 14);
  BOOST_TEST(error_of([&] {
               check_level(note, kTorch);
             }).starts_with("error: plugin p.so: needs LibTorch >= 2.14, host has 2.13.0\n"));
  note.torch_target = torch_number(3, 0);
  BOOST_TEST(!error_of([&] { check_level(note, kTorch); }).empty());
}

BOOST_AUTO_TEST_CASE(exact_wants_the_same_libtorch_and_string_abi) {
  PluginNote note = note_of(STC_LEVEL_EXACT);
  BOOST_TEST(error_of([&] { check_level(note, kTorch); }).empty());
  for (const char* other : {"2.13.1", "2.12.0", "2.13", ""}) {
    note.torch_version = other;
    BOOST_TEST(error_of([&] { check_level(note, kTorch); }) ==
               std::string("error: plugin p.so: built for LibTorch ") + other +
                   " (level exact), host has 2.13.0\n  hint: rebuild it against LibTorch 2.13.0\n");
  }
  note.torch_version = "2.13.0";
  note.cxx11_abi = false;
  BOOST_TEST(error_of([&] { check_level(note, kTorch); }) ==
             "error: plugin p.so: built with _GLIBCXX_USE_CXX11_ABI=0, host has 1\n"
             "  hint: rebuild it with -D_GLIBCXX_USE_CXX11_ABI=1\n");
}

BOOST_AUTO_TEST_CASE(stable_and_exact_want_a_libtorch_at_all) {
  for (const int level : {STC_LEVEL_STABLE, STC_LEVEL_EXACT}) {
    BOOST_TEST(error_of([&] {
                 check_level(note_of(level), {});
               }).find("needs LibTorch, which this program does not hold") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_is_told_of_libtorch_is_what_counts_while_none_is_loaded) {
  set_torch_runtime("2.13.0");
  BOOST_TEST(torch_runtime().version == "2.13.0");
  BOOST_TEST(torch_runtime().packed == torch_number(2, 13));
  set_torch_runtime("");
  BOOST_TEST(torch_runtime().packed == 0U);
}

BOOST_AUTO_TEST_CASE(a_second_libtorch_is_refused_before_it_is_loaded) {
  PluginNote note = note_of(STC_LEVEL_STABLE);
  note.needed = {"libc.so.6", "libc10_of_elsewhere.so"};
  BOOST_TEST(error_of([&] { check_needed(note); }) ==
             "error: plugin p.so: needs libc10_of_elsewhere.so, which is no part of this host's LibTorch\n"
             "  hint: a second LibTorch cannot live in one process: rebuild it against the host's "
             "LibTorch\n");
  note.needed = {"libc.so.6"};
  BOOST_TEST(error_of([&] { check_needed(note); }).empty());
}

BOOST_AUTO_TEST_CASE(one_name_twice_in_a_library_is_refused) {
  PluginNote note = note_of(STC_LEVEL_PLAIN);
  note.plugins.push_back({STC_KIND_SINK, "m", "1.0", "the same word, another kind"});
  BOOST_TEST(error_of([&] { check_records(note); }).empty());
  note.plugins.push_back({STC_KIND_MODEL, "m", "2.0", "again"});
  BOOST_TEST(error_of([&] { check_records(note); }) ==
             "error: plugin p.so: names model m twice\n  hint: rename one of them\n");
  note.plugins.clear();
  BOOST_TEST(error_of([&] { check_records(note); }).find("names no plugin") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(says_which_hosts_load_it) {
  BOOST_TEST(loads_in(note_of(STC_LEVEL_PLAIN)) == "any host of ABI 0.1");
  BOOST_TEST(loads_in(note_of(STC_LEVEL_STABLE)) == "LibTorch >= 2.10");
  BOOST_TEST(loads_in(note_of(STC_LEVEL_EXACT)) == "only LibTorch 2.13.0");
}

BOOST_AUTO_TEST_SUITE_END()
