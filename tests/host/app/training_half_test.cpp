// The launcher without its training half, or with one that is none.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include "stc/testing/folder.hpp"
#include "tests/cli/support/process.hpp"

namespace stc::test {
namespace {

namespace fs = std::filesystem;

/// The program alone in a new folder, as <folder>/bin/stc-host.
class LonelyProgram {
 public:
  LonelyProgram() {
    const char* bin = std::getenv("STC_TEST_BIN");
    BOOST_TEST_REQUIRE(bin != nullptr, "STC_TEST_BIN is not set: run it through ctest");
    fs::create_directories(root() / "bin");
    fs::copy_file(fs::path(bin) / "stc-host", root() / "bin/stc-host");
  }
  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path half() const { return root() / "lib/stc/libstc_host.so"; }
  ProcessResult explain() const {
    ProcessRequest request;
    request.argv = {(root() / "bin/stc-host").string(), "explain", "run.seed"};
    request.directory = root().string();
    return run_process(request);
  }

 private:
  stc::testing::Folder folder_;
};

void check_error(const ProcessResult& result, const std::string& error, const std::string& hint) {
  BOOST_TEST(result.exit == 2);
  BOOST_TEST(result.out == "");
  BOOST_TEST(result.err.starts_with("error: " + error), result.err);
  BOOST_TEST(result.err.ends_with("\n  hint: " + hint + "\n"), result.err);
}

BOOST_AUTO_TEST_SUITE(training_half)

BOOST_AUTO_TEST_CASE(a_missing_one_is_told_with_the_folders_that_were_searched) {
  const LonelyProgram program;
  const std::string root = program.root().string();
  check_error(program.explain(), "libstc_host.so: not found beside the program\n",
              "searched: " + root + "/lib/stc, " + root + "/lib; install stc-host again");
}

BOOST_AUTO_TEST_CASE(one_that_cannot_be_loaded_is_told_with_the_reason) {
  const LonelyProgram program;
  fs::create_directories(program.half().parent_path());
  std::ofstream(program.half()) << "no library";
  check_error(program.explain(), program.half().string() + ": cannot be loaded: " + program.half().string(),
              "LibTorch must be where it was when stc-host was built or installed; build or install it again");
}

BOOST_AUTO_TEST_CASE(a_library_of_something_else_is_told) {
  const LonelyProgram program;
  fs::create_directories(program.half().parent_path());
  fs::copy_file(STC_TEST_OTHER_LIBRARY, program.half());
  check_error(program.explain(), program.half().string() + ": is no training half of stc-host\n",
              "build or install stc-host again");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::test
