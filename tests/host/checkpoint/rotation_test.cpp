#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
namespace fs = std::filesystem;

namespace {

struct RotationCase {
  const char* label;
  std::optional<int64_t> keep_last;
  std::optional<int64_t> keep_every;
  std::vector<uint64_t> saved;
  std::vector<uint64_t> left;
};
std::ostream& operator<<(std::ostream& out, const RotationCase& value) { return out << value.label; }

const std::vector<RotationCase> kRotationCases = {
    {"without a limit all stay", std::nullopt, std::nullopt, {1, 2, 3, 4}, {1, 2, 3, 4}},
    {"without a limit keep_every removes nothing", std::nullopt, 2, {1, 2, 3}, {1, 2, 3}},
    {"the newest two", 2, std::nullopt, {1, 2, 3, 4}, {3, 4}},
    {"fewer than the limit", 5, std::nullopt, {1, 2}, {1, 2}},
    {"zero keeps the newest", 0, std::nullopt, {1, 2, 3}, {3}},
    {"negative keeps the newest", -3, std::nullopt, {1, 2, 3}, {3}},
    {"multiples stay", 1, 10, {5, 10, 15, 20, 25, 30, 35}, {10, 20, 30, 35}},
    {"a multiple among the newest counts", 2, 10, {5, 10, 15, 20, 25}, {10, 20, 25}},
    {"keep_every of 0 keeps none", 1, 0, {5, 10, 15}, {15}},
    {"by number, not by text", 2, std::nullopt, {9, 10, 99, 100, 1000}, {100, 1000}},
    {"step 0 is a multiple", 1, 10, {0, 1, 2}, {0, 2}},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rotation)

BOOST_DATA_TEST_CASE(keeps, boost::unit_test::data::make(kRotationCases), rule) {
  TemporaryFolder folder;
  StoreOptions options = options_for(folder.file("c"));
  options.keep_last = rule.keep_last;
  options.keep_every = rule.keep_every;
  CheckpointStore store(options);
  store.begin_new("a", [](const std::string&) {});
  for (const uint64_t step : rule.saved) save_now(store, make_snapshot(step));
  BOOST_TEST(steps_in(folder.file("c")) == rule.left, boost::test_tools::per_element());
  for (const std::string& name : names_in(folder.file("c"))) {
    BOOST_TEST(name.find(".tmp-") != 0u, name);
  }
}

BOOST_AUTO_TEST_CASE(the_best_stays_until_a_better_one_comes) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  StoreOptions options = options_for(directory);
  options.keep_last = 2;
  CheckpointStore store(options);
  store.begin_new("a", [](const std::string&) {});
  const auto save = [&](uint64_t step, bool best) {
    Snapshot snapshot = make_snapshot(step);
    snapshot.best = best;
    save_now(store, std::move(snapshot));
  };
  for (uint64_t step = 1; step <= 5; ++step) save(step, step == 2);
  BOOST_TEST(steps_in(directory) == (std::vector<uint64_t>{2, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST(read_text(directory + "/best.json") == pointer_text(2));
  save(6, true);
  BOOST_TEST(steps_in(directory) == (std::vector<uint64_t>{5, 6}), boost::test_tools::per_element());
  BOOST_TEST(read_text(directory + "/best.json") == pointer_text(6));
  save(7, false);
  BOOST_TEST(read_text(directory + "/latest.json") == pointer_text(7));
  BOOST_TEST(read_text(directory + "/best.json") == pointer_text(6));
}

BOOST_AUTO_TEST_CASE(a_step_that_becomes_the_best_later_gets_the_pointer) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(3));
  Snapshot again = make_snapshot(3);
  again.best = true;
  save_now(*store, std::move(again));
  BOOST_TEST(read_text(folder.file("c/best.json")) == pointer_text(3));
}

BOOST_AUTO_TEST_CASE(another_runs_higher_steps_neither_count_nor_go) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  save_now(*new_store(directory, "old"), make_snapshot(5000));
  StoreOptions options = options_for(directory);
  options.keep_last = 2;
  CheckpointStore store(options);
  store.begin_new("new", [](const std::string&) {});
  for (uint64_t step = 1; step <= 20; ++step) save_now(store, make_snapshot(step));
  BOOST_TEST(steps_in(directory) == (std::vector<uint64_t>{19, 20}), boost::test_tools::per_element());
  BOOST_TEST(store.open_latest({})->step == 20u);
  BOOST_TEST(open_checkpoint(directory + ".old").step == 5000u);
}

BOOST_AUTO_TEST_CASE(a_copied_checkpoint_of_another_run_is_left_alone) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("other"), "x"), make_snapshot(2));
  StoreOptions options = options_for(folder.file("c"));
  options.keep_last = 1;
  CheckpointStore store(options);
  store.begin_new("a", [](const std::string&) {});
  fs::copy(folder.file("other/step_000000000002"), folder.file("c/step_000000000002"));
  for (const uint64_t step : {1, 3, 4}) save_now(store, make_snapshot(step));
  BOOST_TEST(steps_in(folder.file("c")) == (std::vector<uint64_t>{2, 4}), boost::test_tools::per_element());
  fs::remove(folder.file("c/latest.json"));
  Notes notes;
  BOOST_TEST(store.open_latest(notes.take())->step == 4u);
  fs::remove_all(folder.file("c/step_000000000004"));
  BOOST_TEST(!store.open_latest(notes.take()));
  BOOST_TEST(notes.has("belongs to run x, this folder to run a"));
}

BOOST_AUTO_TEST_CASE(after_going_back_the_new_saves_stay) {
  TemporaryFolder folder;
  StoreOptions options = options_for(folder.file("c"));
  {
    CheckpointStore store(options);
    store.begin_new("a", [](const std::string&) {});
    for (const uint64_t step : {5, 10, 15}) save_now(store, make_snapshot(step));
  }
  write_text(folder.file("c/latest.json"), pointer_text(5));  // the user goes back to step 5
  options.keep_last = 2;
  CheckpointStore store(options);
  store.begin_resumed("a");
  BOOST_TEST(store.open_latest({})->step == 5u);
  save_now(store, make_snapshot(6));
  save_now(store, make_snapshot(7));
  BOOST_TEST(steps_in(folder.file("c")) == (std::vector<uint64_t>{6, 7, 10, 15}), boost::test_tools::per_element());
  BOOST_TEST(store.open_latest({})->step == 7u);
}

BOOST_AUTO_TEST_CASE(a_truncated_one_displaces_no_good_one) {
  TemporaryFolder folder;
  StoreOptions options = options_for(folder.file("c"));
  options.keep_last = 2;
  CheckpointStore store(options);
  store.begin_new("a", [](const std::string&) {});
  save_now(store, make_snapshot(1));
  save_now(store, make_snapshot(2));
  fs::resize_file(folder.file("c/step_000000000002/model.safetensors"), 5);
  save_now(store, make_snapshot(3));
  BOOST_TEST(steps_in(folder.file("c")) == (std::vector<uint64_t>{1, 2, 3}), boost::test_tools::per_element());
  save_now(store, make_snapshot(4));
  BOOST_TEST(steps_in(folder.file("c")) == (std::vector<uint64_t>{3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_changes_nothing) {
  TemporaryFolder folder;
  StoreOptions options = options_for(folder.file("c"));
  options.keep_last = 2;
  CheckpointStore store(options);
  store.begin_new("a", [](const std::string&) {});
  save_now(store, make_snapshot(1));
  save_now(store, make_snapshot(2));
  fs::last_write_time(folder.file("c/step_000000000001"), fs::file_time_type::clock::now() + std::chrono::hours(1000));
  save_now(store, make_snapshot(3));
  BOOST_TEST(steps_in(folder.file("c")) == (std::vector<uint64_t>{2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
