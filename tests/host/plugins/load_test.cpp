// Loading libraries for real, the hostile ones in a child process.

#include <sys/wait.h>
#include <xmmintrin.h>

#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"
#include "host/plugins/library.hpp"

namespace fs = std::filesystem;
using namespace stc::host;
using namespace stc::host::test;

namespace {

struct FatalCase {
  const char* library;
  const char* reason;
};

struct RefusedCase {
  const char* library;
  const char* why;
};

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load)

BOOST_AUTO_TEST_CASE(a_good_library_gives_its_plugins) {
  const LoadedLibrary& library = load_library_once(corpus("good"));
  BOOST_TEST_REQUIRE(library.plugins.size() == 1U);
  BOOST_TEST(library.plugins[0]->declaration.name == "good");
  BOOST_TEST(library.plugins[0]->declaration.kind == STC_KIND_SINK);
  BOOST_TEST(library.plugins[0]->library == corpus("good"));
}

BOOST_AUTO_TEST_CASE(the_same_file_is_entered_once) {
  const TempFolder folder;
  fs::create_symlink(corpus("good"), folder / "link.so");
  const LoadedLibrary& first = load_library_once(corpus("good"));
  BOOST_TEST((&load_library_once(folder / "link.so") == &first));
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { same += &load_library_once(corpus("good")) == &first ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(same == 8);
}

BOOST_AUTO_TEST_CASE(refusals_name_the_file_and_the_reason) {
  const RefusedCase cases[] = {
      {"no_entry", "does not export stc_plugin_entry_v1"},
      {"borrowed_entry", "stc_sink_good.so, which it needs, does)"},
      {"missing_dependency",
       "cannot be loaded: libstc_test_absent.so: cannot open shared object file: No such file or "
       "directory"},
      {"needs_torch", "says level plain, but needs libtorch_of_another_time.so"},
      {"entry_fails", "its entry function failed: no such device: frobnicator 7"},
      {"entry_nothing", "its entry function returned neither plugins nor an error"},
      {"entry_throws_runtime_error", "its entry function threw: no licence server"},
      {"entry_throws_int", "its entry function threw: an exception of type int"},
      {"other_name", "its entry returns sink another, which its note does not name"},
      {"null_slot", "sink null_slot: required slot flush is null"},
  };
  for (const RefusedCase& c : cases) {
    BOOST_TEST_CONTEXT(c.library) {
      const std::string error = error_of([&] { load_library_once(corpus(c.library)); });
      BOOST_TEST(error.starts_with("error: plugin " + corpus(c.library) + ": "), error);
      BOOST_TEST(error.find(c.why) != std::string::npos, error);
      BOOST_TEST(count_of(error, corpus(c.library)) == 1U, error);
      BOOST_TEST(count_of(error, "\n  hint: ") == 1U, error);
      BOOST_TEST(error_of([&] { load_library_once(corpus(c.library)); }) == error);  // and again: not entered twice
    }
  }
}

BOOST_AUTO_TEST_CASE(a_library_that_ends_the_process_is_named_with_the_reason) {
  const FatalCase cases[] = {
      {"aborts", "it called abort"},
      {"crashes", "invalid memory access (SIGSEGV)"},
      {"entry_aborts", "it called abort"},
#ifndef __SANITIZE_THREAD__  // to which an exit within dlopen is an error
      {"exits", "it called exit"},
      {"throws_runtime_error", "an initialiser threw: no licence server at 10.0.0.1"},
      {"throws_int", "an initialiser threw: an exception of type int"},
#endif
  };
  for (const FatalCase& c : cases) {
    BOOST_TEST_CONTEXT(c.library) {
      const ChildResult child = run_in_child([&] { load_library_once(corpus(c.library)); });
      BOOST_TEST((WIFEXITED(child.status) && WEXITSTATUS(child.status) == 2), "status " << child.status);
      const std::string first_line = child.err.substr(0, child.err.find('\n'));
      BOOST_TEST(first_line ==
                 "error: plugin " + corpus(c.library) + ": ended the process while it was loaded: " + c.reason);
      BOOST_TEST(count_of(child.err, "error: ") == 1U, child.err);
    }
  }
}

BOOST_AUTO_TEST_CASE(after_a_load_the_process_ends_as_it_would_have) {
  const ChildResult child = run_in_child([] {
    load_library_once(corpus("good"));
    std::abort();
  });
  BOOST_TEST((WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGABRT));
  const ChildResult leaves = run_in_child([] {
    load_library_once(corpus("good"));
    std::exit(5);
  });
  BOOST_TEST((WIFEXITED(leaves.status) && WEXITSTATUS(leaves.status) == 5));
}

BOOST_AUTO_TEST_CASE(locale_and_floating_point_mode_stay_the_hosts) {
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  const unsigned mode = _mm_getcsr() & _MM_FLUSH_ZERO_MASK;
  load_library_once(corpus("sets_globals"));
  BOOST_TEST(std::setlocale(LC_ALL, nullptr) == locale);
  BOOST_TEST((std::use_facet<std::numpunct<char>>(std::locale()).decimal_point() == '.'));
  BOOST_TEST((_mm_getcsr() & _MM_FLUSH_ZERO_MASK) == mode);
  volatile double tiny = 1e-300;
  BOOST_TEST(tiny * 1e-10 > 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
