// What the readers and writers of checkpoints say about what they refuse, word by word.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include <boost/test/unit_test.hpp>

#include "host/checkpoint/file_system.hpp"
#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/json_text.hpp"
#include "host/checkpoint/manifest.hpp"
#include "tests/host/checkpoint/store_support.hpp"

namespace stc::host::test {
namespace {

namespace fs = std::filesystem;

/// The message of the error that `act` throws; empty: it throws none.
std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(texts)

BOOST_AUTO_TEST_CASE(of_the_file_system) {
  const TemporaryFolder folder;
  const std::string absent = folder.file("absent"), full = folder.file("full"), link = folder.file("link");
  fs::create_directory(full);
  write_text(full + "/a", "x");
  fs::create_symlink("full/a", link);
  FileSystem& files = FileSystem::real();
  const std::string none = " failed: No such file or directory";
  BOOST_TEST(message_of([&] { files.map(link); }) == link + ": a symbolic link, expected a file");
  BOOST_TEST(message_of([&] { files.sync_directory(absent); }) == absent + ": open folder" + none);
  BOOST_TEST(message_of([&] { files.list(absent); }) == absent + ": open folder" + none);
  BOOST_TEST(message_of([&] { files.exchange(absent, full); }) == full + ": exchange with " + absent + none);
  BOOST_TEST(message_of([&] { files.remove_directory(full); }) == full + ": remove folder failed: Directory not empty");
}

BOOST_AUTO_TEST_CASE(of_a_folder_of_speedtronic) {
  const TemporaryFolder folder;
  write_text(folder.file("step_10.pt"), "x");
  try {
    CheckpointStore(options_for(folder.str())).begin_new("a", [](const std::string&) {});
    BOOST_ERROR("not refused");
  } catch (const CheckpointError& error) {
    BOOST_TEST(error.what() ==
               folder.str() + ": step_10.pt: checkpoints of Speedtronic 2.0.0, a format that is not read");
    BOOST_TEST(error.hint() == "set another run.output_dir or checkpoint.directory, or move these files away");
  }
}

BOOST_AUTO_TEST_CASE(of_numbers_that_json_cannot_hold) {
  BOOST_TEST(message_of([] { parse_json_strictly("x.json", R"({"a": 1e999})", 3); }) ==
             "x.json: not JSON, a number is out of range");
}

BOOST_AUTO_TEST_CASE(of_steps_and_run_ids_that_no_name_can_hold) {
  BOOST_TEST(message_of([] { step_folder_name(1000000000000); }) ==
             "step 1000000000000: a checkpoint's name has 12 digits");
  const TemporaryFolder folder;
  const std::string wanted = "run id a/b: expected 1 to 64 of A-Z a-z 0-9 . _ -";
  CheckpointStore store(options_for(folder.file("c")));
  BOOST_TEST(message_of([&] { store.begin_new("a/b", [](const std::string&) {}); }) == wanted);
  BOOST_TEST(message_of([&] { store.begin_resumed("a/b"); }) == wanted);
  BOOST_TEST(message_of([&] { store.save(make_snapshot(1)); }) ==
             "CheckpointStore::save before begin_new or begin_resumed");
  BOOST_TEST(!fs::exists(folder.file("c")));
}

/// A manifest with the value of `key` changed; `sign`: and its own hash made anew.
std::string changed_manifest(const std::string& step, const char* key, Value changed, bool sign) {
  Value value = Value::parse(read_text(step + "/manifest.json"));
  const Value own = value["manifest_xxh3_128"];
  value.erase("manifest_xxh3_128");
  value[key] = std::move(changed);
  const std::string body = value.dump(2);
  value["manifest_xxh3_128"] = sign ? Value(xxh3_128_hex(body.data(), body.size())) : own;
  return value.dump(2) + "\n";
}

BOOST_AUTO_TEST_CASE(of_a_manifest) {
  const TemporaryFolder folder;
  save_now(*new_store(folder.file("c"), "a"), make_snapshot(1));
  const std::string step = folder.file("c/step_000000000001");
  const std::string path = step + "/manifest.json";
  const std::string no_text = changed_manifest(step, "version", 7, true);
  const std::string unsigned_change = changed_manifest(step, "version", "8", false);
  write_text(path, no_text);
  BOOST_TEST(message_of([&] { read_manifest(FileSystem::real(), step); }) == path + ": version 7, expected text");
  write_text(path, unsigned_change);
  BOOST_TEST(message_of([&] { read_manifest(FileSystem::real(), step); }) == path + ": damaged, its own hash differs");
}

BOOST_AUTO_TEST_CASE(of_safetensors) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.safetensors");
  std::string header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  write_text(path, std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header);
  BOOST_TEST(message_of([&] { SafetensorsFile file(path); }) ==
             path + ": tensor a: has keys beyond dtype, shape, data_offsets");
  const auto written = [&](const std::string& name) {
    return message_of([&] { write_safetensors(path, {make_tensor<float>(name, STC_DTYPE_FLOAT32, {1}, {1})}, {}); });
  };
  BOOST_TEST(written("__metadata__") == path + ": tensor __metadata__: the name is reserved by the format");
  BOOST_TEST(written("\xff") == path + ": a tensor name or a metadata text is not UTF-8");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host::test
