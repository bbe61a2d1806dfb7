// `stc-host plugins` as a program: speed of the launcher, listing, and checking libraries that
// break rules.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include <boost/test/unit_test.hpp>

#include "tests/cli/support/process.hpp"
#include "tests/host/plugins/corpus_support.hpp"

namespace fs = std::filesystem;
using namespace stc::host::test;
using stc::test::ProcessRequest;
using stc::test::ProcessResult;

namespace {

ProcessResult host(std::vector<std::string> words, const std::string& plugin_path = {},
                   const std::map<std::string, std::string>& environment = {}) {
  const char* bin = std::getenv("STC_TEST_BIN");
  BOOST_TEST_REQUIRE(bin != nullptr, "STC_TEST_BIN is not set: run it through ctest");
  ProcessRequest request;
  request.argv = {std::string(bin) + "/stc-host"};
  request.argv.insert(request.argv.end(), words.begin(), words.end());
  request.directory = fs::current_path().string();
  request.environment = {{"PATH", "/usr/bin:/bin"}, {"STC_PLUGIN_PATH", plugin_path}};
  request.environment.insert(environment.begin(), environment.end());
  request.timeout_s = 100;
  return run_process(request);
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

size_t scratch_folders() {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
    count += entry.path().filename().string().starts_with("stc-check-") ? 1 : 0;
  }
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plugins_command)

BOOST_AUTO_TEST_CASE(the_launcher_answers_without_loading_libtorch) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--version"}, {"plugins", "list"}, {"run", "--help"}}) {
    const ProcessResult result = host(words, {}, {{"LD_DEBUG", "files"}});
    BOOST_TEST(result.exit == 0, words.front());
    BOOST_TEST(has(result.err, "libc.so"), "the loader lists no files: " << result.err);
    BOOST_TEST(!has(result.err, "libtorch"), words.front());
    BOOST_TEST(!has(result.err, "libstc_host"), words.front());
  }
}

BOOST_AUTO_TEST_CASE(list_shows_plugins_shadows_and_refusals) {
  const TempFolder folder;
  fs::copy_file(corpus("good"), folder / "a.so");
  fs::copy_file(corpus("twin"), folder / "b.so");
  write_bytes(folder / "c.so", with_note(read_bytes(corpus("good")), [](auto& n) { n.abi_minor_built = 7; }));
  const ProcessResult text = host({"plugins", "list", "--plugin-path", folder.path()});
  BOOST_TEST(text.exit == 0);
  BOOST_TEST(has(text.out, "sink"), text.out);
  BOOST_TEST(has(text.out, "any host of ABI 0.1"), text.out);
  BOOST_TEST(has(text.out, folder / "b.so"), text.out);
  BOOST_TEST(has(text.out, "built for stc ABI 0.7, host has 0.1"), text.out);

  const ProcessResult nowhere = host({"plugins", "list", "--plugin-path", folder / "nowhere"});
  BOOST_TEST(nowhere.exit == 0);
  BOOST_TEST(has(nowhere.err, "warning: --plugin-path: " + (folder / "nowhere") + " does not exist"), nowhere.err);

  const ProcessResult json = host({"plugins", "list", "--format", "json", "--plugin-path", folder.path()});
  const auto document = nlohmann::json::parse(json.out);
  const auto find = [&](const std::string& library) {
    for (const auto& plugin : document["plugins"]) {
      if (plugin["library"] == library) return plugin;
    }
    return nlohmann::json();
  };
  BOOST_TEST(find(folder / "a.so")["shadowed_by"].is_null());
  BOOST_TEST(find(folder / "b.so")["shadowed_by"].get<std::string>() == folder / "a.so");
  BOOST_TEST_REQUIRE(document["refused"].size() == 1U);
  BOOST_TEST(document["refused"][0]["library"].get<std::string>() == folder / "c.so");
}

BOOST_AUTO_TEST_CASE(check_passes_a_good_library) {
  const size_t before = scratch_folders();
  const ProcessResult result = host({"plugins", "check", corpus("good")});
  BOOST_TEST(result.exit == 0, result.err);
  BOOST_TEST(result.err == "");
  BOOST_TEST(has(result.out, "good 1.0.0: 6 of 6 slots; 0 parameters"), result.out);
  BOOST_TEST(has(result.out, "created, taken through its states, destroyed"), result.out);
  BOOST_TEST(result.out.ends_with("ok\n"), result.out);
  BOOST_TEST(scratch_folders() == before);
}

struct CheckCase {
  const char* library;
  const char* reason;
};

BOOST_AUTO_TEST_CASE(check_gives_one_error_with_file_and_reason) {
  const CheckCase cases[] = {
      {"no_note", "has no stc note"},
      {"no_entry", "does not export stc_plugin_entry_v1"},
      {"null_slot", "required slot flush is null"},
      {"entry_fails", "its entry function failed: no such device: frobnicator 7"},
      {"entry_throws_int", "its entry function threw: an exception of type int"},
      {"missing_dependency", "libstc_test_absent.so: cannot open shared object file"},
      {"aborts", "ended the process while it was loaded: it called abort"},
      {"crashes", "ended the process while it was loaded: invalid memory access (SIGSEGV)"},
#ifndef __SANITIZE_THREAD__  // to which an exit within dlopen is an error
      {"exits", "ended the process while it was loaded: it called exit"},
      {"throws_runtime_error", "an initialiser threw: no licence server at 10.0.0.1"},
      {"throws_int", "an initialiser threw: an exception of type int"},
#endif
      {"create_nothing", "create returned neither an instance nor an error"},
      {"create_crashes", "ended the process by SIGSEGV while sink create_crashes: create"},
      {"destroy_exits", "ended the process with exit code 0 while sink destroy_exits: destroy"},
      {"event_aborts", "ended the process by SIGABRT while sink event_aborts: going through its states"},
  };
  const size_t before = scratch_folders();
  for (const CheckCase& c : cases) {
    BOOST_TEST_CONTEXT(c.library) {
      const ProcessResult result = host({"plugins", "check", corpus(c.library)});
      BOOST_TEST(result.exit == 2);
      BOOST_TEST(result.err.starts_with("error: plugin " + corpus(c.library) + ": "), result.err);
      BOOST_TEST(has(result.err, c.reason), result.err);
      BOOST_TEST(count_of(result.err, "error: ") == 1U, result.err);
      BOOST_TEST(!has(result.out, "\nok\n"), result.out);
    }
  }
  BOOST_TEST(scratch_folders() == before);
}

BOOST_AUTO_TEST_CASE(check_accepts_a_plugin_that_wants_a_configuration) {
  const ProcessResult result = host({"plugins", "check", corpus("create_fails")});
  BOOST_TEST(result.exit == 0, result.err);
  BOOST_TEST(has(result.out, "not created with its defaults: path: got nothing, expected a path"), result.out);
}

BOOST_AUTO_TEST_CASE(check_refuses_a_truncated_library_and_another_machines) {
  const TempFolder folder;
  const Bytes good = read_bytes(corpus("good"));
  write_bytes(folder / "half.so", Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 4)));
  Bytes arm = good;
  arm[18] = static_cast<char>(183);  // e_machine: EM_AARCH64
  write_bytes(folder / "arm.so", arm);
  write_bytes(folder / "text.so", Bytes(500, 'x'));
  for (const auto& [file, reason] : {std::pair{"half.so", "the file"},
                                     {"arm.so", "built for aarch64, this host runs on"},
                                     {"text.so", "is not a shared library"},
                                     {"absent.so", "cannot be opened"}}) {
    const ProcessResult result = host({"plugins", "check", folder / file});
    BOOST_TEST(result.exit == 2);
    BOOST_TEST(result.err.starts_with("error: plugin " + (folder / file) + ": "), result.err);
    BOOST_TEST(has(result.err, reason), result.err);
    BOOST_TEST(count_of(result.err, "error: ") == 1U, result.err);
  }
}

BOOST_AUTO_TEST_CASE(describe_tells_a_plugin_by_name_kind_or_file) {
  for (const std::string& target : {std::string("good"), std::string("sink/good"), corpus("good")}) {
    const ProcessResult result = host({"plugins", "describe", target, "--plugin-path", corpus("good")});
    BOOST_TEST(result.exit == 0, result.err);
    BOOST_TEST(has(result.out, "sink good 1.0.0: a sink that keeps nothing"), result.out);
  }
  const ProcessResult unknown = host({"plugins", "describe", "sink/goof", "--plugin-path", corpus("good")});
  BOOST_TEST(unknown.exit == 2);
  BOOST_TEST(has(unknown.err, "error: sink plugin goof: not found"), unknown.err);
  BOOST_TEST(has(unknown.err, "nearest name is good"), unknown.err);
}

BOOST_AUTO_TEST_CASE(a_library_that_aborts_at_load_is_named_by_the_commands_that_load_it) {
  const ProcessResult result = host({"plugins", "describe", "aborts", "--plugin-path", corpus("aborts")});
  BOOST_TEST(result.exit == 2);
  BOOST_TEST(result.err.starts_with("error: plugin " + corpus("aborts") +
                                    ": ended the process while it was loaded: it called abort\n"),
             result.err);
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none) {
  const std::string program = std::string(std::getenv("STC_TEST_BIN")) + "/stc-host";
  const auto shell = [&](const std::string& command) {
    ProcessRequest request;
    request.argv = {"/bin/sh", "-c", command};
    request.directory = fs::current_path().string();
    request.environment = {{"PATH", "/usr/bin:/bin"}};
    return run_process(request);
  };
  const ProcessResult full = shell(program + " --help > /dev/full");
  BOOST_TEST(full.exit == 2);
  BOOST_TEST(full.err == "error: standard output: No space left on device\n");
  // `true` never reads: with the pipe gone the command still ends by its own code, silently.
  const ProcessResult gone = shell("{ sleep 0.2; " + program + " --help; echo \"code $?\" >&2; } | true");
  BOOST_TEST(gone.err == "code 0\n");
  BOOST_TEST(shell(program + " --help >&-").exit == 0);
}

BOOST_AUTO_TEST_SUITE_END()
