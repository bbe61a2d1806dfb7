// Finding plugins by name: order of search, shadows, refusals, hints.

#include "host/plugins/registry.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"
#include "host/plugins/search.hpp"

namespace fs = std::filesystem;
using namespace stc::host;
using namespace stc::host::test;

namespace {

/// Three folders, each with its own sink "good", of versions 1 to 3.
struct Folders {
  Folders() {
    const Bytes good = read_bytes(corpus("good"));
    for (int i = 1; i <= 3; ++i) {
      fs::create_directory(path(i));
      write_bytes(path(i) + "/stc_sink_good.so",
                  with_plugin_note(good, [&](stc_note_plugin& note) { note.version[0] = static_cast<char>('0' + i); }));
    }
    ::setenv("STC_PLUGIN_PATH", (":" + path(3) + "::/no/such/folder:").c_str(), 1);
  }
  ~Folders() { ::unsetenv("STC_PLUGIN_PATH"); }
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;
  std::string path(int i) const { return folder / std::to_string(i); }
  TempFolder folder;
};

/// The program of the tests lies beside the built plugins, which every search ends with.
size_t count_in(const std::string& folder, const std::vector<std::string>& libraries) {
  size_t count = 0;
  for (const std::string& library : libraries) count += library.starts_with(folder + "/") ? 1 : 0;
  return count;
}
size_t usable_in(const std::string& folder, Registry& registry) {
  std::vector<std::string> libraries;
  for (const PluginNote& note : registry.notes()) libraries.push_back(note.path);
  return count_in(folder, libraries);
}
size_t refused_in(const std::string& folder, Registry& registry) {
  std::vector<std::string> libraries;
  for (const RefusedLibrary& library : registry.refused()) libraries.push_back(library.path);
  return count_in(folder, libraries);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(registry)

BOOST_AUTO_TEST_CASE(the_first_of_equal_names_wins_in_the_documented_order) {
  const Folders folders;
  Registry all({folders.path(1)});
  all.add_search_paths({folders.path(2)});
  BOOST_TEST(all.load(STC_KIND_SINK, "good").library == folders.path(1) + "/stc_sink_good.so");
  Registry config({});
  config.add_search_paths({folders.path(2)});
  BOOST_TEST(config.load(STC_KIND_SINK, "good").library == folders.path(2) + "/stc_sink_good.so");
  Registry environment({});
  BOOST_TEST(environment.load(STC_KIND_SINK, "good").library == folders.path(3) + "/stc_sink_good.so");
}

BOOST_AUTO_TEST_CASE(a_shadowed_plugin_says_by_what) {
  const Folders folders;
  LibraryIndex index({folders.path(1)});
  index.add_paths({folders.path(1), folders.path(2)});  // the same folder again is no shadow
  std::vector<IndexedPlugin> plugins = index.plugins();
  std::erase_if(plugins, [&](const IndexedPlugin& plugin) { return plugin.record->name != "good"; });
  BOOST_TEST_REQUIRE(plugins.size() == 3U);
  BOOST_TEST(plugins[0].shadowed_by == nullptr);
  for (size_t i = 1; i < 3; ++i) {
    BOOST_TEST_REQUIRE(plugins[i].shadowed_by != nullptr);
    BOOST_TEST(plugins[i].shadowed_by->path == folders.path(1) + "/stc_sink_good.so");
  }
}

BOOST_AUTO_TEST_CASE(a_file_may_stand_in_the_path_or_for_the_name) {
  Registry by_path({corpus("good")});
  BOOST_TEST(by_path.load(STC_KIND_SINK, "good").library == corpus("good"));
  Registry none({});
  BOOST_TEST(none.load(STC_KIND_SINK, corpus("good")).declaration.name == "good");
  BOOST_TEST(error_of([&] { none.load(STC_KIND_MODEL, corpus("good")); }) ==
             "error: plugin " + corpus("good") + ": holds no model, it holds sink good\n");
  BOOST_TEST(has(error_of([&] { none.find(STC_KIND_SINK, "./absent.so"); }), "cannot be opened"));
}

BOOST_AUTO_TEST_CASE(an_unknown_name_gets_the_nearest_and_the_places) {
  const TempFolder folder;
  fs::copy_file(corpus("good"), folder / "stc_sink_good.so");
  Registry registry({folder.path(), "/no/such/folder"});
  BOOST_TEST(registry.find(STC_KIND_SINK, "goof") == nullptr);
  const std::string error = error_of([&] { registry.load(STC_KIND_SINK, "goof"); });
  BOOST_TEST(error.starts_with("error: sink plugin goof: not found, known: "), error);
  BOOST_TEST(
      has(error, "\n  hint: nearest name is good; searched: " + folder.path() + ", /no/such/folder (does not exist)"),
      error);
  BOOST_TEST(error_of([&] {
               registry.load(STC_KIND_COLLECTIVE, "good");
             }).starts_with("error: collective plugin good: not found, there is none of this kind\n"));
  const std::vector<std::string> names = registry.names(STC_KIND_SINK);
  BOOST_TEST((std::count(names.begin(), names.end(), "good") == 1));
}

BOOST_AUTO_TEST_CASE(a_refused_library_gives_its_reason_rather_than_not_found) {
  const TempFolder folder;
  write_bytes(folder / "mine.so", with_note(read_bytes(corpus("good")), [](auto& n) { n.abi_minor_built = 9; }));
  write_bytes(folder / "stc_model_cut.so", Bytes(100, 'x'));
  Registry registry({folder.path()});
  BOOST_TEST(
      has(error_of([&] { registry.find(STC_KIND_SINK, "good"); }), "mine.so: built for stc ABI 0.9, host has 0.1"));
  BOOST_TEST(has(error_of([&] { registry.load(STC_KIND_MODEL, "cut"); }), "stc_model_cut.so: is not a shared library"));
  BOOST_TEST(refused_in(folder.path(), registry) == 2U);
  BOOST_TEST(usable_in(folder.path(), registry) == 0U);
}

BOOST_AUTO_TEST_CASE(a_usable_library_wins_over_a_refused_one_before_it) {
  const TempFolder folder;
  write_bytes(folder / "a.so", with_note(read_bytes(corpus("good")), [](auto& n) { n.abi_minor_built = 9; }));
  fs::copy_file(corpus("good"), folder / "b.so");
  Registry registry({folder.path()});
  BOOST_TEST(registry.load(STC_KIND_SINK, "good").library == folder / "b.so");
}

BOOST_AUTO_TEST_CASE(other_libraries_in_a_folder_are_no_concern) {
  const TempFolder folder;
  fs::copy_file(corpus("no_note"), folder / "libsomething.so");
  fs::copy_file(corpus("good"), folder / "mine.so");
  write_bytes(folder / "notes.txt", Bytes(10, 'x'));
  Registry registry({folder.path()});
  BOOST_TEST(usable_in(folder.path(), registry) == 1U);
  BOOST_TEST(refused_in(folder.path(), registry) == 0U);
  fs::copy_file(corpus("no_note"), folder / "stc_sink_forgot.so");
  Registry again({folder.path()});
  BOOST_TEST(refused_in(folder.path(), again) == 1U);  // named like a plugin: worth a word
}

BOOST_AUTO_TEST_CASE(a_path_names_one_plugin_of_a_kind) {
  Registry registry({});
  BOOST_TEST(error_of([&] { registry.load(STC_KIND_SINK, corpus("two_sinks")); }) ==
             "error: plugin " + corpus("two_sinks") +
                 ": holds several plugins of kind sink: first, second\n"
                 "  hint: name one of them and give the file by --plugin-path\n");
}

BOOST_AUTO_TEST_CASE(the_process_registry_is_one) {
  Registry& first = process_registry({corpus("good")});
  BOOST_TEST((&process_registry({}) == &first));
  BOOST_TEST(first.find(STC_KIND_SINK, "good") != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
