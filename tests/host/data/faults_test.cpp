// Errors of plugins reach next(), and waits end when the run does.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
using stc::testing::Folder;
using Clock = std::chrono::steady_clock;

namespace {

/// Rows that fail from a given one on, in a way that a test chooses.
struct FailingRows {
  inline static std::function<void()> fail;
  struct Stream {
    void get(std::span<const int64_t> rows, stc::Rows& out) const {
      for (const int64_t row : rows) {
        if (row >= 6) fail();
        out.add(std::span<const int64_t>(&row, 1));
      }
    }
  };
  std::vector<stc::Split> splits() const { return {{"train", 20, 0}}; }
  std::vector<stc::Field> fields() const { return {stc::Field::ready<int64_t>("inputs", {1})}; }
  std::string fingerprint() const { return "failing"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

/// Blocks in next without ever asking the host.
struct StuckRows {
  inline static std::atomic<bool> released{false};
  struct Stream {
    bool next(uint32_t, stc::Rows&) {
      while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return false;
    }
    void seek(uint64_t) {}
  };
  std::vector<stc::Split> splits() const { return {{"train", -1, 0}}; }
  std::vector<stc::Field> fields() const { return {stc::Field::ready<int64_t>("inputs", {1})}; }
  std::string fingerprint() const { return "stuck"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {}; }
};

/// Runs next() while another thread ends the run after 100 ms; seconds until Cancelled came. \param message its text.
double seconds_until_cancelled(Data& parts, Loader& loader, std::string* message = nullptr) {
  std::thread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    parts.context.cancelled = true;
  });
  const auto before = Clock::now();
  BOOST_CHECK_EXCEPTION(loader.next(), Cancelled, [&](const Cancelled& error) {
    if (message != nullptr) *message = error.what();
    return true;
  });
  const std::chrono::duration<double> passed = Clock::now() - before;
  signal.join();
  return passed.count();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(come_after_the_batches_before_them_and_stay) {
  for (const int64_t workers : {0, 1, 4}) {
    FailingRows::fail = [] { throw stc::Fault(STC_ERROR_IO, "tape.bin: read error"); };
    const auto parts = table_data<FailingRows>("failing");
    DataSettings settings = settings_of(1, 2);
    settings.num_workers = workers;
    const auto loader = parts->loader(settings);
    for (int i = 0; i < 3; ++i) BOOST_CHECK_EQUAL(values<int64_t>(loader->next()->fields[0])[0], 2 * i);
    for (int again = 0; again < 2; ++again) {
      BOOST_CHECK_EXCEPTION(loader->next(), DataError,
                            [](const DataError& error) { return std::string(error.what()) == "tape.bin: read error"; });
    }
    BOOST_CHECK_EQUAL(loader->position().sample, 6u);
    loader->seek({});
    BOOST_CHECK_EQUAL(values<int64_t>(loader->next()->fields[0])[0], 0);
  }
}

BOOST_AUTO_TEST_CASE(of_the_plugin_itself_name_plugin_and_slot) {
  FailingRows::fail = [] { throw 7; };
  const auto parts = table_data<FailingRows>("failing");
  DataSettings settings = settings_of(1, 7);
  settings.num_workers = 2;
  const auto loader = parts->loader(settings);
  BOOST_CHECK_EXCEPTION(loader->next(), PluginError, [](const PluginError& error) {
    return std::string(error.what()).starts_with("plugin failing (dataset): get: ");
  });
}

BOOST_AUTO_TEST_CASE(malformed_text_names_file_and_offset) {
  const Folder folder;
  const std::string path = write_file(folder, "bad.txt", std::string(300000, 'a') + "\xff" + std::string(100, 'b'));
  for (const int64_t workers : {0, 2}) {
    const auto parts = text_data(path);
    DataSettings settings = settings_of(1000, 8);
    settings.num_workers = workers;
    const auto loader = parts->loader(settings);
    BOOST_CHECK_EXCEPTION(for (int i = 0; i < 100; ++i) loader->next(), DataError, [&](const DataError& error) {
      return std::string(error.what()).starts_with(path + ": not UTF-8 at offset 300000, byte 0xff: ");
    });
    BOOST_CHECK_EQUAL(loader->position().pass, 0u);
    BOOST_CHECK_GT(loader->position().sample, 0u);
  }
}

BOOST_AUTO_TEST_CASE(missing_and_empty_files_are_configuration_errors) {
  const Folder folder;
  BOOST_CHECK_EXCEPTION(text_data((folder.path() / "no.txt").string()), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()).starts_with("data.text_path: ") &&
           std::string(error.what()).ends_with("no.txt: No such file or directory");
  });
  BOOST_CHECK_EXCEPTION(text_data(write_file(folder, "empty.txt", "")), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()).ends_with("empty.txt: is empty");
  });
}

BOOST_AUTO_TEST_CASE(a_tokenizer_with_more_ids_than_the_model_is_refused) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", "text"));
  DataSettings settings = settings_of(2, 1);
  settings.vocab_size = 255;
  BOOST_CHECK_EXCEPTION(parts->loader(settings), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()) == "data.tokenizer: byte has 256 ids, model.vocab_size is 255";
  });
  BOOST_CHECK_THROW(Loader(*parts->dataset, nullptr, settings, "train", {}), PluginError);
  BOOST_CHECK_THROW(Loader(*parts->dataset, parts->tokenizer.get(), settings, "validation", {}), DataError);
}

BOOST_AUTO_TEST_CASE(a_pipe_without_data_lets_go_within_a_second) {
  const Folder folder;
  const std::string path = (folder.path() / "pipe").string();
  BOOST_REQUIRE_EQUAL(mkfifo(path.c_str(), 0600), 0);
  for (const int64_t workers : {0, 1}) {
    const auto parts = text_data(path);
    DataSettings settings = settings_of(4, 1);
    settings.num_workers = workers;
    auto loader = parts->loader(settings);
    BOOST_CHECK_LT(seconds_until_cancelled(*parts, *loader), 1.1);
    const auto before = Clock::now();
    loader.reset();
    BOOST_CHECK_LT(std::chrono::duration<double>(Clock::now() - before).count(), 1.0);
  }
}

BOOST_AUTO_TEST_CASE(a_reader_that_never_asks_does_not_hold_next) {
  StuckRows::released = false;
  const auto parts = table_data<StuckRows>("stuck");
  DataSettings settings = settings_of(1, 1);
  settings.num_workers = 1;
  const auto loader = parts->loader(settings);
  std::string message;
  BOOST_CHECK_LT(seconds_until_cancelled(*parts, *loader, &message), 1.1);
  BOOST_TEST(message == "data loading was interrupted");
  StuckRows::released = true;  // its thread can be joined
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_there_is_given_although_the_run_ends) {
  const auto parts = synthetic_data(100, 4, 100, 1);
  for (const int64_t workers : {0, 2}) {
    DataSettings settings = settings_of(4, 2);
    settings.num_workers = workers;
    const auto loader = parts->loader(settings);
    parts->context.cancelled = true;
    for (int i = 0; i < 20; ++i) BOOST_CHECK_EQUAL(loader->next()->rows, 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
