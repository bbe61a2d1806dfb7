// What is damaged is never used and never hides what is whole.

#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/checkpoint/checkpoint_folder.hpp"
#include "host/checkpoint/hash.hpp"
#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
namespace fs = std::filesystem;
namespace data = boost::unit_test::data;

namespace {

const std::vector<std::string> kFiles = {"model.safetensors", "optimizer.safetensors",
                                         "ema.safetensors",   "coordinator.safetensors",
                                         "state.json",        "manifest.json"};

struct Damage {
  const char* label;
  std::function<void(const std::string& path)> make;
};
std::ostream& operator<<(std::ostream& out, const Damage& damage) { return out << damage.label; }

void flip(const std::string& path, double where) {
  std::string bytes = read_text(path);
  const auto at = static_cast<size_t>(where * static_cast<double>(bytes.size() - 1));
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  write_text(path, bytes);
}

const std::vector<Damage> kDamages = {
    {"empty", [](const std::string& path) { fs::resize_file(path, 0); }},
    {"half", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); }},
    {"one byte short", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) - 1); }},
    {"one byte more", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) + 1); }},
    {"first byte flipped", [](const std::string& path) { flip(path, 0.0); }},
    {"middle byte flipped", [](const std::string& path) { flip(path, 0.5); }},
    {"last byte flipped", [](const std::string& path) { flip(path, 1.0); }},
    {"deleted", [](const std::string& path) { fs::remove(path); }},
    {"a folder",
     [](const std::string& path) {
       fs::remove(path);
       fs::create_directory(path);
     }},
    {"a link",
     [](const std::string& path) {
       fs::rename(path, path + ".x");
       fs::create_symlink(path + ".x", path);
     }},
    {"zip of torch.save", [](const std::string& path) { write_text(path, "PK\x03\x04" + std::string(200, 'x')); }},
    {"raw pickle", [](const std::string& path) { write_text(path, "\x80\x02}q.c__builtin__\nexec\n"); }},
};

Snapshot full_snapshot(uint64_t step) {
  Snapshot snapshot = make_snapshot(step);
  snapshot.coordinator.push_back(make_tensor<float>("m", STC_DTYPE_FLOAT32, {2}, {1, 2}));
  snapshot.ema.push_back(make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2}, {3, 4}));
  return snapshot;
}

/// Steps 10 and 20 in `directory`.
void make_two(const std::string& directory) {
  auto store = new_store(directory, "a");
  save_now(*store, full_snapshot(10));
  save_now(*store, full_snapshot(20));
}

/// A manifest that agrees with the files as they are: what someone who means harm would write.
void sign_again(const std::string& folder) {
  Manifest manifest = read_manifest(FileSystem::real(), folder);
  for (auto& [name, digest] : manifest.files) {
    const std::string bytes = read_text(folder + "/" + name);
    digest = {bytes.size(), xxh3_128_hex(bytes.data(), bytes.size())};
  }
  write_text(folder + "/manifest.json", manifest_text(manifest));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(damage)

BOOST_DATA_TEST_CASE(the_one_before_is_used_and_the_note_says_why, data::make(kFiles) * data::make(kDamages), file,
                     kind) {
  TemporaryFolder folder;
  const std::string directory = folder.file("c");
  make_two(directory);
  const std::string path = directory + "/step_000000000020/" + file;
  kind.make(path);

  Notes notes;
  CheckpointStore store(options_for(directory));
  const auto loaded = store.open_latest(notes.take());
  BOOST_REQUIRE(loaded);
  BOOST_TEST(same_content(*loaded, full_snapshot(10)));
  BOOST_TEST(notes.has("checkpoint of step 20 is not used: " + path + ": "), notes.all());
  BOOST_CHECK_EXCEPTION(open_checkpoint(directory + "/step_000000000020"), CheckpointError, says(path));

  store.begin_resumed("a");  // and the run goes on over it
  save_now(store, full_snapshot(20));
  Notes after;
  BOOST_TEST(same_content(*store.open_latest(after.take()), full_snapshot(20)));
  BOOST_TEST(after.lines.empty());
}

BOOST_AUTO_TEST_CASE(every_byte_of_a_manifest_counts) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(1));
  const std::string path = folder.file("c/step_000000000001/manifest.json");
  const std::string good = read_text(path);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {1, 4, 0x20}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ bit);
      write_text(path, bad);
      BOOST_CHECK_THROW(open_checkpoint(folder.file("c/step_000000000001")), CheckpointError);
    }
  }
  write_text(path, good);
  BOOST_TEST(open_checkpoint(folder.file("c/step_000000000001")).step == 1u);
}

struct PointerCase {
  const char* label;
  std::string text;
  const char* note;
};
std::ostream& operator<<(std::ostream& out, const PointerCase& value) { return out << value.label; }

const std::vector<PointerCase> kPointers = {
    {"empty", "", "latest.json: not JSON"},
    {"cut off", R"({"step":20,"fi)", "latest.json: not JSON"},
    {"a list", "[20]", "latest.json: not an object"},
    {"no file", R"({"step":20})", "latest.json: file null, expected a name like step_000000000042"},
    {"a number", R"({"step":20,"file":20})", "latest.json: file 20, expected a name like"},
    {"a path upwards", R"({"step":1,"file":"../other/step_000000000001"})", "expected a name like"},
    {"only upwards", R"({"step":1,"file":"../x"})", "expected a name like"},
    {"an absolute path", R"({"step":1,"file":"/etc/passwd"})", "expected a name like"},
    {"a trailing slash", R"({"step":20,"file":"step_000000000020/"})", "expected a name like"},
    {"a NUL", R"({"step":20,"file":"step_000000000020\u0000"})", "expected a name like"},
    {"a pickle", R"({"step":20,"file":"step_000000000020.pt"})", "expected a name like"},
    {"step and file differ", R"({"step":10,"file":"step_000000000020"})", "latest.json: step 10, file"},
    {"missing step folder", R"({"step":30,"file":"step_000000000030"})", "step_000000000030 does not exist"},
    {"large", "{\"step\":20,\"file\":\"step_000000000020\"}" + std::string(5000, ' '), "at most 4096"},
};

BOOST_DATA_TEST_CASE(a_broken_pointer_falls_back_to_the_highest_step, data::make(kPointers), broken) {
  TemporaryFolder folder;
  const std::string directory = folder.file("out/c");
  make_two(directory);
  save_now(*new_store(folder.file("out/other"), "a"), make_snapshot(1));
  write_text(directory + "/latest.json", broken.text);
  Notes notes;
  BOOST_TEST(open_checkpoint(directory, notes.take()).step == 20u);
  BOOST_TEST(notes.has(broken.note), notes.all());
}

BOOST_AUTO_TEST_CASE(a_lost_pointer_falls_back_to_the_highest_step) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  fs::remove(folder.file("c/latest.json"));
  Notes notes;
  BOOST_TEST(open_checkpoint(folder.file("c"), notes.take()).step == 20u);
  BOOST_TEST(notes.has("latest.json: missing"));
}

BOOST_AUTO_TEST_CASE(the_folder_that_the_pointer_names_is_lost) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  fs::remove_all(folder.file("c/step_000000000020"));
  Notes notes;
  BOOST_TEST(open_checkpoint(folder.file("c"), notes.take()).step == 10u);
  BOOST_TEST(notes.has("latest.json: step_000000000020 does not exist"));
}

BOOST_AUTO_TEST_CASE(all_damaged_is_none_and_each_is_named) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  for (const char* step : {"c/step_000000000010", "c/step_000000000020"}) {
    fs::remove(folder.file(step) + "/state.json");
  }
  Notes notes;
  CheckpointStore store(options_for(folder.file("c")));
  BOOST_TEST(!store.open_latest(notes.take()));
  BOOST_TEST(notes.lines.size() == 2u);
  BOOST_TEST(notes.has("step_000000000010/state.json: missing"));
  BOOST_TEST(notes.has("step_000000000020/state.json: missing"));
  BOOST_CHECK_EXCEPTION(open_checkpoint(folder.file("c")), CheckpointError,
                        says("no valid checkpoint: checkpoint of step 10 is not used: "));
}

BOOST_AUTO_TEST_CASE(a_linked_step_folder_does_not_count) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  fs::rename(folder.file("c/step_000000000020"), folder.file("elsewhere"));
  fs::create_directory_symlink(folder.file("elsewhere"), folder.file("c/step_000000000020"));
  BOOST_TEST(open_checkpoint(folder.file("c")).step == 10u);
}

BOOST_AUTO_TEST_CASE(a_renamed_step_folder_is_found_out) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  fs::rename(folder.file("c/step_000000000010"), folder.file("c/step_000000000030"));
  fs::remove(folder.file("c/latest.json"));
  Notes notes;
  BOOST_TEST(open_checkpoint(folder.file("c"), notes.take()).step == 20u);
  BOOST_TEST(notes.has("manifest.json: step 10 in a folder named step_000000000030"));
}

BOOST_AUTO_TEST_CASE(signed_pickles_are_an_unknown_format) {
  for (const char* file :
       {"model.safetensors", "optimizer.safetensors", "ema.safetensors", "coordinator.safetensors", "state.json"}) {
    for (const std::string& pickle :
         {"PK\x03\x04\x14\x00\x08\x08" + std::string(300, '\x01'), "\x80\x02}q" + std::string(300, 'x')}) {
      TemporaryFolder folder;
      make_two(folder.file("c"));
      const std::string step = folder.file("c/step_000000000020");
      write_text(step + "/" + file, pickle);
      sign_again(step);
      const bool json = std::string(file) == "state.json";
      BOOST_CHECK_EXCEPTION(open_checkpoint(step), CheckpointError,
                            says(step + "/" + file + (json ? ": not JSON" : ": unknown format")));
    }
  }
}

struct ManifestCase {
  const char* label;
  std::function<void(Value&)> change;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const ManifestCase& value) { return out << value.label; }

const std::vector<ManifestCase> kManifests = {
    {"another format", [](Value& v) { v["format"] = "other"; }, "unknown format, expected stc-checkpoint"},
    {"a later version", [](Value& v) { v["format_version"] = 2; }, "format version 2, this program reads 1"},
    {"no version", [](Value& v) { v.erase("format_version"); }, "without format_version"},
    {"a negative step", [](Value& v) { v["step"] = -1; }, "step -1, expected a number >= 0"},
    {"a run id that is a path", [](Value& v) { v["run_id"] = "../x"; }, "run_id \"../x\""},
    {"no files", [](Value& v) { v.erase("files"); }, "without files"},
    {"a list of files", [](Value& v) { v["files"] = {1}; }, "files: not an object"},
    {"a file upwards", [](Value& v) { v["files"]["../x"] = v["files"]["state.json"]; }, "expected a plain file name"},
    {"an absolute file", [](Value& v) { v["files"]["/etc/passwd"] = v["files"]["state.json"]; },
     "expected a plain file name"},
    {"the manifest itself", [](Value& v) { v["files"]["manifest.json"] = v["files"]["state.json"]; },
     "expected a plain file name"},
    {"without a model", [](Value& v) { v["files"].erase("model.safetensors"); }, "files: without model.safetensors"},
    {"without a state", [](Value& v) { v["files"].erase("state.json"); }, "files: without state.json"},
    {"no size", [](Value& v) { v["files"]["state.json"].erase("bytes"); }, "state.json: without bytes"},
    {"a short hash", [](Value& v) { v["files"]["state.json"]["xxh3_128"] = "ab"; }, "xxh3_128 \"ab\""},
    {"an unknown file that is not there", [](Value& v) { v["files"]["later.safetensors"] = v["files"]["state.json"]; },
     "later.safetensors: missing"},
};

BOOST_DATA_TEST_CASE(signed_manifests_are_checked_all_the_same, data::make(kManifests), changed) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(1));
  const std::string step = folder.file("c/step_000000000001");
  Value value = Value::parse(read_text(step + "/manifest.json"));
  value.erase("manifest_xxh3_128");
  changed.change(value);
  const std::string body = value.dump(2);
  value["manifest_xxh3_128"] = xxh3_128_hex(body.data(), body.size());
  write_text(step + "/manifest.json", value.dump(2) + "\n");
  BOOST_CHECK_EXCEPTION(open_checkpoint(step), CheckpointError, says(changed.message));
}

BOOST_AUTO_TEST_CASE(a_state_that_would_exhaust_the_stack_is_refused) {
  TemporaryFolder folder;
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(1));
  const std::string step = folder.file("c/step_000000000001");
  write_text(step + "/state.json", std::string(200000, '['));
  sign_again(step);
  BOOST_CHECK_EXCEPTION(open_checkpoint(step), CheckpointError, says("state.json: nested deeper than 100"));
}

BOOST_AUTO_TEST_CASE(files_beside_the_listed_ones_are_not_read) {
  TemporaryFolder folder;
  make_two(folder.file("c"));
  write_text(folder.file("c/step_000000000020/random_state.pkl"), "\x80\x02.");
  Notes notes;
  BOOST_TEST(open_checkpoint(folder.file("c"), notes.take()).step == 20u);
  BOOST_TEST(notes.lines.empty());
}

BOOST_AUTO_TEST_SUITE_END()
