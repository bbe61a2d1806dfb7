#include "host/checkpoint/report.hpp"

#include <boost/test/unit_test.hpp>

#include "host/checkpoint/hash.hpp"
#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
namespace fs = std::filesystem;

namespace {

struct Scene {
  TemporaryFolder folder;
  std::string directory = folder.file("c");
  std::string newest = directory + "/step_000000000002";
  Scene() {
    auto store = new_store(directory, "run-a");
    save_now(*store, make_snapshot(1));
    save_now(*store, make_snapshot(2));
  }
  Value checkpoint(Verify verify = Verify::kHashes) { return describe_checkpoint(FileSystem::real(), newest, verify); }
  Value all() { return describe_folder(FileSystem::real(), directory, Verify::kHashes); }
};

bool holds(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) BOOST_TEST_MESSAGE(text << "\nlacks: " << part);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(a_checkpoint_is_described) {
  Scene scene;
  const Value report = scene.checkpoint();
  BOOST_TEST(report["valid"] == true);
  BOOST_TEST(report["problems"].empty());
  BOOST_TEST(report["step"] == 2);
  BOOST_TEST(report["run_id"] == "run-a");
  BOOST_TEST(report["counters"].dump() == R"({"step":2,"samples":16,"tokens":2048,"micro_batches":4})");
  BOOST_TEST(report["aliases"].dump() == R"({"lm_head.weight":"wte.weight"})");
  BOOST_TEST(report["config"].dump() == R"({"run":{"name":"t"}})");
  const Value& tensor = report["tensors"]["model"][0];
  BOOST_TEST(tensor["name"] == "wte.weight");
  BOOST_TEST(tensor["dtype"] == "F32");
  BOOST_TEST(tensor["shape"].dump() == "[2,2]");
  BOOST_TEST(tensor["bytes"] == 16);
  const HostTensor expected = make_snapshot(2).model[0];
  BOOST_TEST(tensor["xxh3_128"] == xxh3_128_hex(expected.data, expected.bytes));
  BOOST_TEST(report["tensors"]["optimizer"][1]["shape"].dump() == "[]");
  const std::string model = read_text(scene.newest + "/model.safetensors");
  BOOST_TEST(report["files"]["model.safetensors"]["bytes"] == model.size());
  BOOST_TEST(report["files"]["model.safetensors"]["xxh3_128"] == xxh3_128_hex(model.data(), model.size()));
  BOOST_TEST(!scene.checkpoint(Verify::kSizes)["tensors"]["model"][0].contains("xxh3_128"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_as_text) {
  Scene scene;
  const std::string text = report_text(scene.checkpoint());
  for (const char* part : {"\n  valid           yes\n", "\n  run             run-a\n", "\n  tokens          2048\n",
                           "\n  alias           lm_head.weight = wte.weight\n", "model tensor  dtype  shape",
                           "wte.weight    F32    [2,2]     16  ", "wte.weight/step     F32    []"}) {
    BOOST_TEST(holds(text, part));
  }
}

BOOST_AUTO_TEST_CASE(a_broken_checkpoint_names_every_broken_file) {
  Scene scene;
  fs::resize_file(scene.newest + "/model.safetensors", 3);
  fs::remove(scene.newest + "/state.json");
  const Value report = scene.checkpoint();
  BOOST_TEST(report["valid"] == false);
  BOOST_REQUIRE(report["problems"].size() == 2u);
  BOOST_TEST(holds(report["problems"][0].get<std::string>(), scene.newest + "/model.safetensors: 3 bytes, expected "));
  BOOST_TEST(report["problems"][1] == scene.newest + "/state.json: missing");
  BOOST_TEST(holds(report_text(report), "broken          " + scene.newest + "/state.json: missing"));
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_is_seen_unless_hashes_are_left_out) {
  Scene scene;
  std::string bytes = read_text(scene.newest + "/model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(scene.newest + "/model.safetensors", bytes);
  BOOST_TEST(scene.checkpoint(Verify::kHashes)["valid"] == false);
  BOOST_TEST(scene.checkpoint(Verify::kSizes)["valid"] == true);
}

BOOST_AUTO_TEST_CASE(a_folder_is_described) {
  Scene scene;
  Value report = scene.all();
  BOOST_TEST(report["valid"] == true);
  BOOST_TEST(report["latest"] == 2);
  BOOST_TEST(report["checkpoints"].size() == 2u);
  BOOST_TEST(report["newest"]["step"] == 2);

  fs::remove(scene.newest + "/manifest.json");
  fs::create_directory(scene.directory + "/" + temporary_name(1, "3"));
  report = scene.all();
  BOOST_TEST(report["valid"] == false);
  BOOST_TEST(report["newest"]["step"] == 1);
  BOOST_TEST(report["unfinished"].dump() == R"([".tmp-1-3"])");
  const std::string text = report_text(report);
  BOOST_TEST(holds(text, "  step 2          broken\n    " + scene.newest + "/manifest.json: missing"));
  BOOST_TEST(holds(text, "  step 1          valid\n"));
}

BOOST_AUTO_TEST_CASE(pointers_and_strangers_are_told) {
  Scene scene;
  fs::remove(scene.directory + "/latest.json");
  BOOST_TEST(scene.all()["problems"][0] == scene.directory + "/latest.json: missing");
  write_text(scene.directory + "/latest.json", pointer_text(7));
  BOOST_TEST(scene.all()["problems"][0] == scene.directory + "/latest.json: step_000000000007 does not exist");
  write_text(scene.directory + "/latest.json", pointer_text(1));
  BOOST_TEST(scene.all()["best"].is_null());
  write_text(scene.directory + "/best.json", pointer_text(7));
  BOOST_TEST(scene.all()["problems"][0] == scene.directory + "/best.json: step_000000000007 does not exist");
  write_text(scene.directory + "/best.json", pointer_text(2));
  BOOST_TEST(scene.all()["best"] == 2);
  BOOST_TEST(holds(report_text(scene.all()), "\n  best            step 2\n"));
  BOOST_TEST(scene.all()["newest"]["step"] == 1);
  write_text(scene.directory + "/run.json", run_file_text("run-b"));
  const Value report = scene.all();
  BOOST_TEST(report["newest"].is_null());
  BOOST_TEST(holds(report["problems"][0].get<std::string>(), "belongs to run run-a, this folder to run run-b"));
}

BOOST_AUTO_TEST_CASE(a_folder_before_its_first_checkpoint) {
  TemporaryFolder folder;
  { new_store(folder.file("c"), "a"); }
  const Value report = describe_folder(FileSystem::real(), folder.file("c"), Verify::kHashes);
  BOOST_TEST(report["valid"] == true);
  BOOST_TEST(report_text(report) == "checkpoints in " + folder.file("c") +
                                        "\n  run             a\n  latest          none\n  checkpoints     none\n");
}

BOOST_AUTO_TEST_SUITE_END()
