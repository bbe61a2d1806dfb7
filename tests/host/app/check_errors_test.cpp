// What `stc-host plugins check` says, word by word: about each library of broken_plugins, and when the system does not
// let it start its child.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "stc/testing/folder.hpp"
#include "tests/cli/support/process.hpp"

using stc::test::ProcessRequest;
using stc::test::ProcessResult;

namespace {

const std::string kBroken = STC_TEST_BROKEN_PLUGINS;

std::string program() {
  const char* bin = std::getenv("STC_TEST_BIN");
  BOOST_TEST_REQUIRE(bin != nullptr, "STC_TEST_BIN is not set: run it through ctest");
  return std::string(bin) + "/stc-host";
}

/// Runs a command whose temporary files go to a folder of its own, and expects that it leaves none there.
ProcessResult run(std::vector<std::string> argv) {
  const stc::testing::Folder folder;
  ProcessRequest request;
  request.argv = std::move(argv);
  request.directory = std::filesystem::current_path().string();
  // A search for leaks opens more files than a case below allows.
  request.environment = {
      {"PATH", "/usr/bin:/bin"}, {"TMPDIR", folder.path().string()}, {"ASAN_OPTIONS", "detect_leaks=0"}};
  request.timeout_s = 100;
  ProcessResult result = run_process(request);
  BOOST_TEST(std::filesystem::is_empty(folder.path()));
  return result;
}

/// A library and what is wrong with it.
struct Broken {
  const char* kind;
  const char* rule;
  const char* error;
};

void check_each(const std::vector<Broken>& cases, std::string (*expected)(const Broken&, const std::string& library)) {
  for (const Broken& broken : cases) {
    BOOST_TEST_CONTEXT(broken.kind << " " << broken.rule) {
      const std::string library = kBroken + "/stc_" + broken.kind + "_" + broken.rule + ".so";
      const ProcessResult result = run({program(), "plugins", "check", library});
      BOOST_TEST(result.exit == 2);
      BOOST_TEST(result.err == expected(broken, library));
    }
  }
}

std::string could_not(const std::string& what) { return "error: plugins check: " + what + "\n"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(check_errors)

BOOST_AUTO_TEST_CASE(a_broken_rule_is_named_with_the_page_of_its_kind) {
  check_each({{"model", "no_parameters", "parameters gave none"},
              {"optimizer", "changes_without_gradient", "step changed a parameter that had no gradient"},
              {"optimizer", "makes_infinite", "step made a weight of 0.5 with gradient 0.25 not finite"},
              {"optimizer", "makes_nan", "step made a weight of 0.5 with gradient 0.25 not finite"},
              {"sink", "create_throws", "create: an exception came out of the slot: no licence server at 10.0.0.1"},
              {"sink", "destroy_throws", "destroy: an exception came out of the slot: an exception of type int"},
              {"tokenizer", "size_zero", "size is 0"},
              {"tokenizer", "id_beyond_size", "encode gave id 256, size is 256"},
              {"tokenizer", "id_below_zero", "encode gave id -1, size is 256"},
              {"tokenizer", "cut_beyond_text", "safe_cut is beyond the text"}},
             [](const Broken& broken, const std::string& library) {
               return "error: plugin " + library + ": " + broken.kind + " " + broken.rule + ": " + broken.error +
                      "\n  hint: the contract of each slot is in stc/abi/" + broken.kind + ".h\n";
             });
}

BOOST_AUTO_TEST_CASE(a_rule_that_every_run_looks_at_is_named_as_there) {
  check_each({{"dataset", "no_description", "describe: no description"},
              {"dataset", "no_split", "describe: no splits"},
              {"dataset", "no_field", "describe: no fields"},
              {"precision", "whole_numbers", "resolve: compute type 4 is not a floating type of stc/abi/core.h"},
              {"precision", "scale_zero", "scale: got 0.000000, expected a finite number > 0"},
              {"precision", "scale_infinite", "scale: got inf, expected a finite number > 0"}},
             [](const Broken& broken, const std::string&) {
               return std::string("error: plugin ") + broken.rule + " (" + broken.kind + "): " + broken.error + "\n";
             });
}

BOOST_AUTO_TEST_CASE(a_library_that_ends_the_process_otherwise_is_not_ok) {
  check_each({{"sink", "ends_otherwise", "ended the process with exit code 7 while ending after all checks passed"}},
             [](const Broken& broken, const std::string& library) {
               return "error: plugin " + library + ": " + broken.error +
                      "\n  hint: a debugger shows where: gdb --args stc-host plugins check --report-fd 1 " + library +
                      "\n";
             });
}

BOOST_AUTO_TEST_CASE(a_child_that_cannot_be_started_is_an_error_of_the_system) {
  // One descriptor is left, which the loader needs at start; a pipe takes two. Inherited ones are closed first.
  const ProcessResult no_pipe =
      run({"/bin/sh", "-c",
           "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec \"$0\" plugins check library.so", program()});
  BOOST_TEST(no_pipe.exit == 2);
  BOOST_TEST(no_pipe.err == could_not("pipe: Too many open files"));
  // Linux takes words of up to 32 pages; the child's word for the file is longer than the caller's.
  const auto longest = static_cast<size_t>(::sysconf(_SC_PAGESIZE)) * 32 - 1;
  const ProcessResult no_child = run({program(), "plugins", "check", std::string(longest, 'x')});
  BOOST_TEST(no_child.exit == 2);
  BOOST_TEST(no_child.err == could_not("cannot start a process: Argument list too long"));
}

BOOST_AUTO_TEST_SUITE_END()
