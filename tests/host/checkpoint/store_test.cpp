#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(checkpoint_store)

BOOST_AUTO_TEST_CASE(save_and_load_give_the_same_content) {
  TemporaryFolder folder;
  const std::string directory = folder.file("out/checkpoints");
  Snapshot snapshot = make_snapshot(42);
  snapshot.coordinator.push_back(make_tensor<double>("momentum/w", STC_DTYPE_FLOAT64, {1}, {0.7}));
  snapshot.ema.push_back(make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2}, {1.5f, -0.0f}));
  {
    auto store = new_store(directory, "run-a");
    save_now(*store, snapshot);
  }
  BOOST_TEST(names_in(directory) == (std::vector<std::string>{".lock", "latest.json", "run.json", "step_000000000042"}),
             boost::test_tools::per_element());
  BOOST_TEST(names_in(directory + "/step_000000000042") ==
                 (std::vector<std::string>{"coordinator.safetensors", "ema.safetensors", "manifest.json",
                                           "model.safetensors", "optimizer.safetensors", "state.json"}),
             boost::test_tools::per_element());
  BOOST_TEST(read_text(directory + "/latest.json") == "{\"step\":42,\"file\":\"step_000000000042\"}\n");

  Notes notes;
  CheckpointStore reader(options_for(directory));
  BOOST_TEST(reader.run_id() == "run-a");
  const auto loaded = reader.open_latest(notes.take());
  BOOST_REQUIRE(loaded);
  BOOST_TEST(same_content(*loaded, snapshot));
  BOOST_TEST(loaded->run_id == "run-a");
  BOOST_TEST(loaded->version == "1.2.3");
  BOOST_TEST(notes.lines.empty());
  for (const std::string& path : {directory + "/step_000000000042", directory, folder.file("out")}) {
    BOOST_TEST(same_content(open_checkpoint(path), snapshot), path);
  }
}

BOOST_AUTO_TEST_CASE(without_tensors_of_a_part_there_is_no_such_file) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(1));
  BOOST_TEST(!fs::exists(folder.file("c/step_000000000001/coordinator.safetensors")));
  BOOST_TEST(!fs::exists(folder.file("c/step_000000000001/ema.safetensors")));
  BOOST_TEST(!fs::exists(folder.file("c/best.json")));
}

BOOST_AUTO_TEST_CASE(equal_snapshots_give_equal_bytes) {
  TemporaryFolder folder;
  for (const char* name : {"x", "y"}) {
    save_now(*new_store(folder.file(name), "same"), make_snapshot(7));
  }
  for (const std::string& file : names_in(folder.file("x/step_000000000007"))) {
    const std::string name = "/step_000000000007/" + file;
    BOOST_TEST((read_text(folder.file("x") + name) == read_text(folder.file("y") + name)), file);
  }
}

BOOST_AUTO_TEST_CASE(saves_do_not_wait_for_the_disk_and_are_told_once) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  std::vector<SaveResult> results;
  for (uint64_t step = 1; step <= 5; ++step) {
    store->save(make_snapshot(step));
    for (SaveResult& result : store->poll()) results.push_back(std::move(result));
  }
  for (SaveResult& result : store->finish()) results.push_back(std::move(result));
  BOOST_REQUIRE(results.size() == 5u);
  for (uint64_t step = 1; step <= 5; ++step) BOOST_TEST(results[step - 1].step == step);
  BOOST_TEST(store->poll().empty());
  BOOST_TEST(store->finish().empty());
}

BOOST_AUTO_TEST_CASE(the_destructor_waits_for_the_save_under_way) {
  TemporaryFolder folder;
  new_store(folder.file("c"), "a")->save(make_snapshot(9));
  BOOST_TEST(open_checkpoint(folder.file("c")).step == 9u);
}

BOOST_AUTO_TEST_CASE(nothing_there_is_no_checkpoint) {
  TemporaryFolder folder;
  Notes notes;
  CheckpointStore store(options_for(folder.file("absent/checkpoints")));
  BOOST_TEST(!store.open_latest(notes.take()));
  BOOST_TEST(store.run_id() == "");
  BOOST_TEST(!fs::exists(folder.file("absent")));  // looking creates nothing
  BOOST_TEST(notes.lines.empty());
}

BOOST_AUTO_TEST_CASE(a_run_killed_before_its_first_checkpoint_can_go_on) {
  TemporaryFolder folder;
  { new_store(folder.file("c"), "a"); }
  Notes notes;
  CheckpointStore store(options_for(folder.file("c")));
  BOOST_TEST(!store.open_latest(notes.take()));
  BOOST_TEST(store.run_id() == "a");
  store.begin_resumed("a");
  save_now(store, make_snapshot(1));
  BOOST_TEST(store.open_latest(notes.take())->step == 1u);
  BOOST_TEST(notes.lines.empty());
  BOOST_TEST(names_in(folder.str()) == std::vector<std::string>{"c"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_new_run_takes_over_a_folder_without_checkpoints) {
  TemporaryFolder folder;
  { new_store(folder.file("c"), "a"); }
  write_text(folder.file("c/latest.json"), pointer_text(5));
  write_text(folder.file("c/best.json"), pointer_text(5));
  Notes notes;
  CheckpointStore store(options_for(folder.file("c")));
  store.begin_new("b", notes.take());
  BOOST_TEST(store.run_id() == "b");
  BOOST_TEST(notes.lines.empty());
  BOOST_TEST(!fs::exists(folder.file("c/latest.json")));
  BOOST_TEST(!fs::exists(folder.file("c/best.json")));
}

BOOST_AUTO_TEST_CASE(a_new_run_renames_a_used_folder) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  for (const char* id : {"a", "b", "b", "c"}) {
    save_now(*new_store(directory, id), make_snapshot(5000));
  }
  BOOST_TEST(names_in(folder.str()) == (std::vector<std::string>{"c", "c.a", "c.b", "c.b.2"}),
             boost::test_tools::per_element());
  Notes notes;
  CheckpointStore store(options_for(directory));
  store.begin_new("d", notes.take());
  BOOST_REQUIRE(notes.lines.size() == 1u);
  BOOST_TEST(notes.has(directory + ": holds checkpoints of another run, kept as "));
  BOOST_TEST(notes.has("c.c"));
  BOOST_TEST(open_checkpoint(folder.file("c.a")).run_id == "a");  // nothing is lost
  BOOST_TEST(!store.open_latest(notes.take()));
}

BOOST_AUTO_TEST_CASE(other_files_stay_where_they_are) {
  TemporaryFolder folder;
  const std::string directory = folder.file("out");
  save_now(*new_store(directory, "a"), make_snapshot(3));
  write_text(directory + "/metrics.jsonl", "{}\n");
  save_now(*new_store(directory, "b"), make_snapshot(1));
  BOOST_TEST(read_text(directory + "/metrics.jsonl") == "{}\n");
  BOOST_TEST(steps_in(directory) == std::vector<uint64_t>{1}, boost::test_tools::per_element());
  BOOST_TEST(open_checkpoint(directory + ".a").step == 3u);
  BOOST_TEST(CheckpointStore(options_for(directory + ".a")).run_id() == "a");
}

BOOST_AUTO_TEST_CASE(a_linked_folder_stays_linked) {
  TemporaryFolder folder;
  fs::create_directory(folder.file("big"));
  fs::create_directory_symlink(folder.file("big"), folder.file("c"));
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(3));
  save_now(*new_store(folder.file("c"), "b"), make_snapshot(4));
  BOOST_TEST(fs::is_symlink(folder.file("c")));
  BOOST_TEST(open_checkpoint(folder.file("big")).step == 4u);
  BOOST_TEST(open_checkpoint(folder.file("big.a")).step == 3u);
}

BOOST_AUTO_TEST_CASE(only_files_of_2_0_0_are_an_error_that_names_them) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  fs::create_directory(directory);
  for (const char* name : {"step_000000000500.pt", "step_000000001000.pt"}) {
    write_text(directory + "/" + name, "PK\x03\x04");
  }
  write_text(directory + "/latest.json", R"({"step": 1000, "file": "step_000000001000.pt"})");
  const std::string message =
      directory + ": step_000000000500.pt, step_000000001000.pt: checkpoints of Speedtronic 2.0.0";
  Notes notes;
  CheckpointStore store(options_for(directory));
  BOOST_CHECK_EXCEPTION(store.open_latest(notes.take()), CheckpointError, says(message));
  BOOST_CHECK_EXCEPTION(store.begin_new("a", notes.take()), CheckpointError, says(message));
  BOOST_CHECK_EXCEPTION(open_checkpoint(directory), CheckpointError, says(message));
  BOOST_TEST(
      names_in(directory) == (std::vector<std::string>{"latest.json", "step_000000000500.pt", "step_000000001000.pt"}),
      boost::test_tools::per_element());  // nothing was touched
}

BOOST_AUTO_TEST_CASE(two_processes_cannot_train_into_one_folder) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(1));
  const std::string pid = std::to_string(::getpid());
  CheckpointStore second(options_for(folder.file("c")));
  const auto in_use = says(folder.file("c") + ": in use by process " + pid + " on ");
  BOOST_CHECK_EXCEPTION(second.begin_resumed("a"), CheckpointError, in_use);
  BOOST_CHECK_EXCEPTION(second.begin_new("b", [](const std::string&) {}), CheckpointError, in_use);
  BOOST_TEST(open_checkpoint(folder.file("c")).run_id == "a");  // reading is free
  store.reset();
  second.begin_resumed("a");
}

BOOST_AUTO_TEST_CASE(resuming_another_run_is_refused) {
  TemporaryFolder folder;
  { new_store(folder.file("c"), "a"); }
  CheckpointStore store(options_for(folder.file("c")));
  BOOST_CHECK_EXCEPTION(store.begin_resumed("b"), CheckpointError, says("belongs to run a, expected run b"));
}

BOOST_AUTO_TEST_CASE(a_lost_run_file_is_made_again_from_the_manifests) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(1));
  for (const char* content : {"", "{", "[]", R"({"format":"stc-run","run_id":"../x"})", R"({"run_id":"z"})"}) {
    write_text(folder.file("c/run.json"), content);
    CheckpointStore store(options_for(folder.file("c")));
    BOOST_TEST(store.run_id() == "a");
    BOOST_TEST(store.open_latest({})->step == 1u);
    store.begin_resumed("a");
    BOOST_TEST(read_run_file(FileSystem::real(), folder.file("c")).value() == "a");
  }
}

BOOST_AUTO_TEST_CASE(run_ids_that_could_be_paths_are_refused) {
  TemporaryFolder folder;
  CheckpointStore store(options_for(folder.file("c")));
  for (const std::string& id : {std::string(), std::string("../x"), std::string("a/b"), std::string(".a"),
                                std::string("a b"), std::string(65, 'a'), std::string("a\0b", 3)}) {
    BOOST_CHECK_EXCEPTION(store.begin_new(id, [](const std::string&) {}), CheckpointError, says("run id"));
    BOOST_CHECK_EXCEPTION(store.begin_resumed(id), CheckpointError, says("run id"));
  }
  BOOST_CHECK_THROW(store.save(make_snapshot(1)), std::logic_error);
}

BOOST_AUTO_TEST_CASE(the_same_bits_again_leave_the_folder_alone) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(4));
  const auto before = fs::last_write_time(folder.file("c/step_000000000004/model.safetensors"));
  save_now(*store, make_snapshot(4));
  BOOST_TEST((fs::last_write_time(folder.file("c/step_000000000004/model.safetensors")) == before));
  BOOST_TEST(steps_in(folder.file("c")).size() == 1u);
}

BOOST_AUTO_TEST_CASE(other_bits_of_the_same_step_replace_it) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(4));
  save_now(*store, make_snapshot(4, 0.5f));
  BOOST_TEST(same_content(open_checkpoint(folder.file("c")), make_snapshot(4, 0.5f)));
  BOOST_TEST(names_in(folder.file("c")).size() == 4u);  // no remains
  write_text(folder.file("c/step_000000000004/model.safetensors"), "damage");
  save_now(*store, make_snapshot(4));
  BOOST_TEST(same_content(open_checkpoint(folder.file("c")), make_snapshot(4)));
}

BOOST_AUTO_TEST_CASE(a_strangers_checkpoint_of_the_same_step_is_moved_aside) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("other"), "x"), make_snapshot(4));
  auto store = new_store(folder.file("c"), "a");
  fs::copy(folder.file("other/step_000000000004"), folder.file("c/step_000000000004"));
  save_now(*store, make_snapshot(4));
  BOOST_TEST(open_checkpoint(folder.file("c")).run_id == "a");
  BOOST_TEST(open_checkpoint(folder.file("c/step_000000000004.x")).run_id == "x");
}

BOOST_AUTO_TEST_CASE(numbers_of_the_state_keep_their_bits) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  Snapshot snapshot = make_snapshot(1);
  snapshot.state["doubles"] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 1.0 / 3.0, 65536.0};
  snapshot.state["integers"] = {uint64_t{18446744073709551615u}, INT64_MIN, INT64_MAX};
  save_now(*store, snapshot);
  const LoadedCheckpoint loaded = open_checkpoint(folder.file("c"));
  for (size_t i = 0; i < snapshot.state["doubles"].size(); ++i) {
    const double a = snapshot.state["doubles"][i].get<double>();
    const double b = loaded.state["doubles"][i].get<double>();
    BOOST_TEST(std::memcmp(&a, &b, sizeof(a)) == 0, a << " became " << b);
    BOOST_TEST(loaded.state["doubles"][i].is_number_float());
  }
  BOOST_TEST((loaded.state["integers"] == snapshot.state["integers"]));
}

BOOST_AUTO_TEST_CASE(a_state_that_json_cannot_hold_is_an_error_of_the_save) {
  TemporaryFolder folder;
  auto store = new_store(folder.file("c"), "a");
  save_now(*store, make_snapshot(1));
  Snapshot snapshot = make_snapshot(2);
  snapshot.state["scaler"] = {{"scale", {1.0, std::numeric_limits<double>::infinity()}}};
  store->save(snapshot);
  auto results = store->finish();
  BOOST_REQUIRE(results.size() == 1u);
  BOOST_TEST(results[0].error == "state.scaler.scale.1: not a finite number, JSON cannot hold it");
  snapshot.state["scaler"] = "\xff";
  store->save(snapshot);
  results = store->finish();
  BOOST_TEST(results.at(0).error == "state: holds text that is not UTF-8");
  BOOST_TEST(open_checkpoint(folder.file("c")).step == 1u);
  BOOST_TEST(names_in(folder.file("c")).size() == 4u);
}

BOOST_AUTO_TEST_CASE(steps_beyond_the_name_are_an_error_of_the_save) {
  BOOST_TEST(step_folder_name(0) == "step_000000000000");
  BOOST_TEST(step_folder_name(999999999999u) == "step_999999999999");
  BOOST_CHECK_EXCEPTION(step_folder_name(1000000000000u), CheckpointError, says("12 digits"));
  for (const char* name : {"step_00000000004", "step_0000000000042", "step_+00000000042", "step_-00000000042",
                           "step_00000000004x", "Step_000000000042", "step_000000000042/", ""}) {
    BOOST_TEST(!parse_step_folder_name(name), name);
  }
}

BOOST_AUTO_TEST_CASE(leftovers_of_dead_processes_go_and_those_of_live_ones_stay) {
  TemporaryFolder folder;
  { new_store(folder.file("c"), "a"); }
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  BOOST_REQUIRE(::waitpid(dead, nullptr, 0) == dead);
  const std::string gone = temporary_name(dead, "7");
  const std::string mine = temporary_name(::getpid(), "8");
  const pid_t living = ::fork();
  if (living == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::string live = temporary_name(living, "9");
  const std::string reused = temporary_name(living, "10");
  for (const std::string& name : {gone, mine, live, reused}) {
    fs::create_directory(folder.file("c/" + name));
    write_text(folder.file("c/" + name + "/model.safetensors"), "half");
  }
  // Made before the live process began: its number was another's then.
  fs::last_write_time(folder.file("c/" + reused), fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  write_text(folder.file("c/" + temporary_name(dead, "latest.json")), "{");
  CheckpointStore store(options_for(folder.file("c")));
  store.begin_resumed("a");
  BOOST_TEST(names_in(folder.file("c")) == (std::vector<std::string>{".lock", live, "run.json"}),
             boost::test_tools::per_element());
  ::kill(living, SIGKILL);
  BOOST_REQUIRE(::waitpid(living, nullptr, 0) == living);
  save_now(store, make_snapshot(1));
  BOOST_TEST(fs::exists(folder.file("c/" + live)));  // the next start clears it
  CheckpointStore next(options_for(folder.file("c")));
  BOOST_CHECK_THROW(next.begin_resumed("a"), CheckpointError);
}

BOOST_AUTO_TEST_CASE(a_lower_pointer_is_followed_and_later_steps_are_named) {
  TemporaryFolder folder;
  {
    auto store = new_store(folder.file("c"), "a");
    for (const uint64_t step : {1, 2, 3}) save_now(*store, make_snapshot(step));
  }
  write_text(folder.file("c/latest.json"), pointer_text(2));
  Notes notes;
  BOOST_TEST(open_checkpoint(folder.file("c"), notes.take()).step == 2u);
  BOOST_TEST(notes.has("points to step 2, later ones (up to 3) are not used"));
}

BOOST_AUTO_TEST_CASE(paths_that_are_no_checkpoint_are_explained) {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& path, const std::string& message) {
    BOOST_CHECK_EXCEPTION(open_checkpoint(path), CheckpointError, says(path + message));
  };
  refused(folder.file("absent"), ": does not exist, expected a step_<12 digits> folder");
  refused(folder.str(), ": holds no checkpoints, expected a step_<12 digits> folder");
  write_text(folder.file("model.pt"), "PK\x03\x04");
  refused(folder.file("model.pt"), ": unknown format, a file is no checkpoint");
  fs::create_directory(folder.file("step_000000000003"));
  refused(folder.file("step_000000000003"), "/manifest.json: missing, the checkpoint was never finished");
  for (const char* name : {"run/x", "run/y"}) {
    save_now(*new_store(folder.file(name), "a"), make_snapshot(1));
  }
  refused(folder.file("run"), ": holds several checkpoints folders (x, y)");
  save_now(*new_store(folder.file("run/checkpoints"), "a"), make_snapshot(8));
  BOOST_TEST(open_checkpoint(folder.file("run")).step == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
