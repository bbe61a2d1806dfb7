// Real kills: a child saves in a loop and dies at a random moment.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

/// Large enough that a kill often hits a write.
Snapshot large_snapshot(uint64_t step) {
  Snapshot snapshot = make_snapshot(step);
  snapshot.model.push_back(
      make_tensor<float>("large", STC_DTYPE_FLOAT32, {1 << 18}, std::vector<float>(1 << 18, static_cast<float>(step))));
  return snapshot;
}

StoreOptions two_kept(const std::string& directory) {
  StoreOptions options = options_for(directory);
  options.keep_last = 2;
  return options;
}

/// Saves the steps after the newest checkpoint until it is killed. Never returns.
[[noreturn]] void save_for_ever(const std::string& directory) {
  try {
    CheckpointStore store(two_kept(directory));
    const auto loaded = store.open_latest({});
    store.begin_resumed("a");
    for (uint64_t step = loaded ? loaded->step + 1 : 1;; ++step) store.save(large_snapshot(step));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    ::_exit(1);
  }
}

/// Forks, runs `body`, and reports how the child ended.
template <class Body>
int status_of_child(Body body, std::chrono::microseconds kill_after) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  std::this_thread::sleep_for(kill_after);
  ::kill(child, SIGKILL);
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kills)

BOOST_AUTO_TEST_CASE(killed_at_random_moments) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  { new_store(directory, "a"); }
  std::mt19937 random(20240607);
  std::uniform_int_distribution<int> delay_us(2000, 60000);
  uint64_t newest = 0;
  int leftovers = 0;
  for (int round = 0; round < 20; ++round) {
    BOOST_TEST_CONTEXT("round " << round) {
      const int status =
          status_of_child([&] { save_for_ever(directory); }, std::chrono::microseconds(delay_us(random)));
      BOOST_REQUIRE(WIFSIGNALED(status));
      leftovers += scan_folder(FileSystem::real(), directory).temporaries.empty() ? 0 : 1;
      Notes notes;
      CheckpointStore store(two_kept(directory));
      const auto loaded = store.open_latest(notes.take());
      BOOST_TEST(!notes.has("is not used"), notes.all());
      if (loaded) {
        BOOST_TEST(same_content(*loaded, large_snapshot(loaded->step)));
        BOOST_TEST(loaded->step >= newest);
        newest = loaded->step;
      }
      BOOST_REQUIRE((loaded || newest == 0));
    }
  }
  BOOST_TEST(newest > 0u);
  BOOST_TEST_MESSAGE(newest << " checkpoints, " << leftovers << " of 20 kills left a temporary");
  CheckpointStore store(two_kept(directory));
  store.begin_resumed("a");
  BOOST_TEST(scan_folder(FileSystem::real(), directory).temporaries.empty());
  save_now(store, large_snapshot(newest + 1));
  save_now(store, large_snapshot(newest + 2));
  BOOST_TEST(steps_in(directory) == (std::vector<uint64_t>{newest + 1, newest + 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_file_size_limit_is_an_error_of_the_save) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  { save_now(*new_store(directory, "a"), make_snapshot(1)); }
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{100 * 1024, 100 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    CheckpointStore store(options_for(directory));
    store.begin_resumed("a");
    store.save(large_snapshot(2));
    const auto results = store.finish();
    const bool told = results.size() == 1 &&
                      results[0].error.find("model.safetensors: write failed: File too large") != std::string::npos;
    store.save(make_snapshot(3));  // small enough
    ::_exit(told && store.finish().at(0).error.empty() ? 0 : 1);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
  BOOST_TEST(steps_in(directory) == (std::vector<uint64_t>{1, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_live_process_keeps_its_folder) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  { new_store(directory, "a"); }
  const pid_t child = ::fork();
  if (child == 0) save_for_ever(directory);
  bool refused = false;
  for (int tries = 0; tries < 2000 && !refused; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (scan_folder(FileSystem::real(), directory).steps.empty()) continue;
    CheckpointStore store(options_for(directory));
    BOOST_CHECK_EXCEPTION(store.begin_new("b", {}), CheckpointError,
                          says("in use by process " + std::to_string(child) + " on "));
    refused = true;
  }
  BOOST_TEST(refused);
  ::kill(child, SIGKILL);
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  CheckpointStore store(options_for(directory));
  BOOST_TEST(store.open_latest({}).has_value());
  store.begin_resumed("a");
}

BOOST_AUTO_TEST_SUITE_END()
