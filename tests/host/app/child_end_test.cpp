// A run in a child process does not outlive the command that started it.
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "stc/testing/folder.hpp"
#include "tests/cli/support/process.hpp"

namespace stc::test {
namespace {

namespace fs = std::filesystem;

/// A living process with both words in its command line; words end in a zero byte there.
std::optional<pid_t> find_process(const std::string& word, const std::string& other) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (line.find(word) != std::string::npos && line.find(other) != std::string::npos) return std::stoi(name);
  }
  return std::nullopt;
}

bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

BOOST_AUTO_TEST_CASE(a_killed_bench_takes_its_run_with_it) {
  const char* bin = std::getenv("STC_TEST_BIN");
  const char* plugins = std::getenv("STC_TEST_PLUGINS");
  BOOST_TEST_REQUIRE((bin != nullptr && plugins != nullptr), "run it through ctest");
  const stc::testing::Folder folder;
  const std::string config = (fs::canonical(folder.path()) / "run.yaml").string();
  std::ofstream(config) << "run: {device: cpu}\ndata: {synthetic: true, num_tokens: 4096}\n"
                           "model: {vocab_size: 64, max_seq_len: 16, n_layer: 1, n_head: 2, n_kv_head: 1, d_model: 16, "
                           "d_ff: 32}\n";
  ProcessRequest request;
  request.argv = {std::string(bin) + "/stc-host", "bench", config, "--steps", "1000000", "--plugin-path", plugins};
  request.directory = request.environment["TMPDIR"] = folder.path();
  request.timeout_s = 120;
  ProcessResult result;
  std::thread runner([&] { result = run_process(request); });
  const std::string bench_word = std::string("bench") + '\0' + config, run_word = std::string("run") + '\0' + config;
  const bool trains = wait_until([&] { return find_process(run_word, "--max-steps").has_value(); });
  if (const auto bench = find_process(bench_word, "--steps")) ::kill(*bench, SIGKILL);
  runner.join();
  BOOST_TEST(trains, result.err);
  BOOST_TEST(result.exit == 128 + SIGKILL);
  BOOST_TEST(wait_until([&] { return !find_process(run_word, "--max-steps").has_value(); }));
  if (const auto left = find_process(run_word, "--max-steps")) ::kill(*left, SIGKILL);
}

}  // namespace
}  // namespace stc::test
