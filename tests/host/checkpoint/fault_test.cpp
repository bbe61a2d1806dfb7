// Every operation of a save fails once, in turn: what was safe before stays loadable, and the next
// save succeeds.

#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
namespace fs = std::filesystem;

namespace {

/// The disk with a flaw. Counts every call that changes something; reading is never counted.
class FaultyDisk : public FileSystem {
 public:
  enum class Mode {
    kFail,   // the n-th call fails with `code`, all others work
    kCrash,  // the n-th call is done by half, and nothing reaches the disk any more
  };
  struct Plan {
    Mode mode = Mode::kFail;
    int at = 0;  // counts from 1; 0: never
    int code = ENOSPC;
    bool can_exchange = true;
  };

  void set(Plan plan) {
    plan_ = plan;
    calls_ = 0;
    dead_ = false;
  }
  int calls() const { return calls_; }
  const std::string& failed() const { return failed_; }

  std::unique_ptr<OutputFile> create(const std::string& path) override {
    hit(path, "create");
    return std::make_unique<FaultyFile>(*this, path, disk_.create(path));
  }
  void make_directory(const std::string& path) override {
    hit(path, "mkdir");
    disk_.make_directory(path);
  }
  void sync_directory(const std::string& path) override {
    hit(path, "sync folder");
    disk_.sync_directory(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    hit(to, "rename");
    disk_.rename(from, to);
  }
  bool exchange(const std::string& a, const std::string& b) override {
    if (!plan_.can_exchange) return false;
    hit(b, "exchange");
    return disk_.exchange(a, b);
  }
  void remove_file(const std::string& path) override {
    hit(path, "remove");
    disk_.remove_file(path);
  }
  void remove_directory(const std::string& path) override {
    hit(path, "rmdir");
    disk_.remove_directory(path);
  }
  FileView map(const std::string& path) override { return disk_.map(path); }
  std::vector<DirectoryEntry> list(const std::string& path) override { return disk_.list(path); }
  std::optional<EntryKind> kind(const std::string& path) override { return disk_.kind(path); }
  int64_t modified_s(const std::string& path) override { return disk_.modified_s(path); }
  LockAttempt try_lock(const std::string& path) override { return disk_.try_lock(path); }

 private:
  class FaultyFile : public OutputFile {
   public:
    FaultyFile(FaultyDisk& disk, std::string path, std::unique_ptr<OutputFile> file)
        : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
    void write(const void* data, uint64_t bytes) override {
      try {
        disk_.hit(path_, "write");
      } catch (const FileError&) {
        if (!disk_.was_dead_) file_->write(data, bytes / 2);  // a torn write
        throw;
      }
      file_->write(data, bytes);
    }
    void sync() override {
      disk_.hit(path_, "sync");
      file_->sync();
    }
    void close() override {
      disk_.hit(path_, "close");
      file_->close();
    }

   private:
    FaultyDisk& disk_;
    std::string path_;
    std::unique_ptr<OutputFile> file_;
  };

  void hit(const std::string& path, const std::string& action) {
    was_dead_ = dead_;
    if (dead_) throw FileError(path, action, EIO);
    if (++calls_ != plan_.at) return;
    dead_ = plan_.mode == Mode::kCrash;
    failed_ = action + " " + path;
    throw FileError(path, action, plan_.code);
  }

  FileSystem& disk_ = FileSystem::real();
  Plan plan_;
  int calls_ = 0;
  bool dead_ = false;
  bool was_dead_ = false;
  std::string failed_;
};

/// Steps 1 and 2 saved; the save of step 3 rotates step 1 away.
struct Scene {
  TemporaryFolder folder;
  std::string directory = folder.file("c");
  FaultyDisk disk;
  std::unique_ptr<CheckpointStore> store;

  explicit Scene(std::optional<int64_t> keep_last = 2) {
    StoreOptions options = options_for(directory);
    options.keep_last = keep_last;
    store = std::make_unique<CheckpointStore>(options, disk);
    store->begin_new("a", [](const std::string&) {});
    save_now(*store, make_snapshot(1));
    save_now(*store, make_snapshot(2));
  }

  SaveResult save(Snapshot snapshot) {
    store->save(std::move(snapshot));
    auto results = store->finish();
    BOOST_REQUIRE(results.size() == 1u);
    return results[0];
  }

  int calls_of_a_save(const Snapshot& snapshot, bool can_exchange = true) {
    disk.set({FaultyDisk::Mode::kFail, 0, 0, can_exchange});
    BOOST_TEST(save(snapshot).error == "");
    return disk.calls();
  }
};

bool holds(const std::string& directory, uint64_t step, const Snapshot& snapshot) {
  try {
    return same_content(open_checkpoint(directory + "/" + step_folder_name(step)), snapshot);
  } catch (const CheckpointError& error) {
    BOOST_TEST_MESSAGE(error.what());
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(any_operation_may_fail) {
  const int calls = Scene().calls_of_a_save(make_snapshot(3));
  BOOST_TEST(calls > 25);
  int failed_saves = 0;
  for (const int code : {ENOSPC, EACCES, EIO}) {
    for (int at = 1; at <= calls; ++at) {
      Scene scene;
      scene.disk.set({FaultyDisk::Mode::kFail, at, code, true});
      const SaveResult result = scene.save(make_snapshot(3));
      BOOST_TEST_CONTEXT("operation " << at << ": " << scene.disk.failed()) {
        BOOST_TEST(result.step == 3u);
        // Told with path and reason, as an error or (old ones could not be removed) as a warning;
        // only the removal of the former content may fail in silence.
        const std::string told = result.error + result.warning;
        BOOST_TEST(told.find(std::generic_category().message(code)) != std::string::npos, told);
        BOOST_TEST(told.find(scene.directory) == 0u, told);
        failed_saves += result.error.empty() ? 0 : 1;
        const LoadedCheckpoint loaded = open_checkpoint(scene.directory);
        BOOST_TEST(same_content(loaded, make_snapshot(loaded.step)));
        BOOST_TEST(loaded.step >= 2u);
        if (result.error.empty()) BOOST_TEST(loaded.step == 3u);
        BOOST_TEST(holds(scene.directory, 2, make_snapshot(2)));
        if (!result.error.empty()) BOOST_TEST(holds(scene.directory, 1, make_snapshot(1)));

        save_now(*scene.store, make_snapshot(4));
        BOOST_TEST(open_checkpoint(scene.directory).step == 4u);
        for (const std::string& name : names_in(scene.directory)) {
          BOOST_TEST(name.find(".tmp-") != 0u, name);
        }
      }
    }
  }
  BOOST_TEST(failed_saves > 3 * 20);
}

BOOST_AUTO_TEST_CASE(a_process_may_die_in_any_operation) {
  const int calls = Scene().calls_of_a_save(make_snapshot(3));
  for (int at = 1; at <= calls; ++at) {
    Scene scene;
    scene.disk.set({FaultyDisk::Mode::kCrash, at, EIO, true});
    scene.save(make_snapshot(3));
    scene.store.reset();
    BOOST_TEST_CONTEXT("died in operation " << at << ": " << scene.disk.failed()) {
      Notes notes;
      CheckpointStore next(options_for(scene.directory));
      const auto loaded = next.open_latest(notes.take());
      BOOST_REQUIRE(loaded);
      BOOST_TEST(loaded->step >= 2u);
      BOOST_TEST(same_content(*loaded, make_snapshot(loaded->step)));
      BOOST_TEST(!notes.has("is not used"), notes.all());  // no broken one is in sight
      next.begin_resumed("a");
      for (const std::string& name : names_in(scene.directory)) {
        BOOST_TEST(name.find(".tmp-") != 0u, name);
      }
      save_now(next, make_snapshot(3));
      BOOST_TEST(same_content(open_checkpoint(scene.directory), make_snapshot(3)));
    }
  }
}

BOOST_AUTO_TEST_CASE(replacing_a_step_is_safe_at_any_moment) {
  for (const bool can_exchange : {true, false}) {
    const int calls = Scene().calls_of_a_save(make_snapshot(2, 0.5f), can_exchange);
    for (const auto mode : {FaultyDisk::Mode::kFail, FaultyDisk::Mode::kCrash}) {
      for (int at = 1; at <= calls; ++at) {
        Scene scene;
        scene.disk.set({mode, at, EIO, can_exchange});
        scene.save(make_snapshot(2, 0.5f));
        scene.store.reset();
        BOOST_TEST_CONTEXT("operation " << at << ": " << scene.disk.failed() << ", exchange " << can_exchange) {
          const LoadedCheckpoint loaded = open_checkpoint(scene.directory);
          const bool one_of_two =
              same_content(loaded, make_snapshot(2)) || same_content(loaded, make_snapshot(2, 0.5f));
          // Without an atomic exchange there is a moment between two renames with only step 1.
          BOOST_TEST((one_of_two || (!can_exchange && same_content(loaded, make_snapshot(1)))));
          BOOST_TEST(holds(scene.directory, 1, make_snapshot(1)));
          CheckpointStore next(options_for(scene.directory));
          next.begin_resumed("a");
          save_now(next, make_snapshot(2, 0.5f));
          BOOST_TEST(same_content(open_checkpoint(scene.directory), make_snapshot(2, 0.5f)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(taking_a_used_folder_loses_nothing_at_any_moment) {
  for (const bool with_foreign_file : {false, true}) {
    for (int at = 1;; ++at) {
      Scene scene;
      scene.store.reset();
      if (with_foreign_file) write_text(scene.directory + "/notes.txt", "x");
      scene.disk.set({FaultyDisk::Mode::kCrash, at, EIO, true});
      bool done = false;
      {
        CheckpointStore taker(options_for(scene.directory), scene.disk);
        try {
          taker.begin_new("b", [](const std::string&) {});
          done = true;
        } catch (const CheckpointError&) {
        }
      }
      BOOST_TEST_CONTEXT("operation " << at << ": " << scene.disk.failed()) {
        CheckpointStore next(options_for(scene.directory));
        next.begin_new("c", [](const std::string&) {});
        save_now(next, make_snapshot(7));
        BOOST_TEST(open_checkpoint(scene.directory).run_id == "c");
        std::vector<uint64_t> old_steps;
        for (const std::string& name : names_in(scene.folder.str())) {
          if (name == "c") continue;
          for (const uint64_t step : steps_in(scene.folder.file(name))) {
            BOOST_TEST(holds(scene.folder.file(name), step, make_snapshot(step)));
            old_steps.push_back(step);
          }
        }
        std::sort(old_steps.begin(), old_steps.end());
        BOOST_TEST(old_steps == (std::vector<uint64_t>{1, 2}), boost::test_tools::per_element());
      }
      if (done) break;
      BOOST_REQUIRE(at < 100);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_failed_pointer_leaves_the_old_one_valid) {
  Scene scene;
  const int calls = scene.calls_of_a_save(make_snapshot(3));
  for (int at = 1; at <= calls; ++at) {
    Scene again;
    again.disk.set({FaultyDisk::Mode::kFail, at, EACCES, true});
    const SaveResult result = again.save(make_snapshot(3));
    if (again.disk.failed() != "rename " + again.directory + "/latest.json") continue;
    BOOST_TEST(result.error.find("/latest.json: rename") != std::string::npos, result.error);
    Notes notes;
    BOOST_TEST(open_checkpoint(again.directory, notes.take()).step == 2u);
    BOOST_TEST(notes.has("points to step 2, later ones (up to 3) are not used"));
    return;
  }
  BOOST_FAIL("no rename of latest.json seen");
}

BOOST_AUTO_TEST_CASE(a_lost_folder_is_an_error_of_the_save) {
  Scene scene;
  fs::remove_all(scene.directory);
  const SaveResult result = scene.save(make_snapshot(3));
  BOOST_TEST(result.error.find("No such file or directory") != std::string::npos, result.error);
}

BOOST_AUTO_TEST_CASE(a_read_only_folder_is_told_at_the_start) {
  if (::geteuid() == 0) {
    BOOST_TEST_MESSAGE("skipped: root may write anywhere");
    std::puts("skipped: root may write anywhere");
    return;
  }
  TemporaryFolder folder;
  fs::create_directory(folder.file("out"));
  fs::permissions(folder.file("out"), fs::perms::owner_read | fs::perms::owner_exec);
  CheckpointStore store(options_for(folder.file("out/c")));
  BOOST_CHECK_EXCEPTION(store.begin_new("a", [](const std::string&) {}), CheckpointError,
                        says("out/c: create folder failed: Permission denied"));
  fs::permissions(folder.file("out"), fs::perms::owner_all);
}

BOOST_AUTO_TEST_SUITE_END()
