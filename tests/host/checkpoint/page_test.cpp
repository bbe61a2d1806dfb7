// The worked example of docs/reference/checkpoint.md is what the program writes.

#include <cstdio>

#include <boost/test/unit_test.hpp>

#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

/// As `xxd` prints it.
std::string hex_dump(const std::string& bytes) {
  constexpr size_t kWidth = 16;
  std::string text;
  for (size_t begin = 0; begin < bytes.size(); begin += kWidth) {
    char cell[32];
    std::snprintf(cell, sizeof(cell), "%08zx:", begin);
    std::string line = cell;
    std::string letters;
    for (size_t i = 0; i < kWidth; ++i) {
      if (i % 2 == 0) line += ' ';
      if (begin + i >= bytes.size()) {
        line += "  ";
        continue;
      }
      const auto byte = static_cast<unsigned char>(bytes[begin + i]);
      std::snprintf(cell, sizeof(cell), "%02x", byte);
      line += cell;
      letters += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
    }
    text += line + "  " + letters + "\n";
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(page)

BOOST_AUTO_TEST_CASE(the_worked_example_is_real) {
  TemporaryFolder folder;
  StoreOptions options;
  options.directory = folder.file("c");
  options.version = "0.1.0";
  CheckpointStore store(options);
  store.begin_new("20260301T101500-5f3a", {});
  Snapshot snapshot;
  snapshot.step = 42;
  snapshot.model = {make_tensor<uint8_t>("mask", STC_DTYPE_BOOL, {3}, {1, 0, 1}),
                    make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2, 2}, {1, 2, 3, 4})};
  snapshot.model_metadata = {{"alias:lm_head.weight", "wte.weight"}};
  snapshot.optimizer = {make_tensor<float>("wte.weight/exp_avg", STC_DTYPE_FLOAT32, {2, 2}, {1, 2, 3, 4}),
                        make_tensor<float>("wte.weight/step", STC_DTYPE_FLOAT32, {}, {42})};
  snapshot.state = {{"step", 42}};
  save_now(store, std::move(snapshot));

  const std::string page = read_text(source_folder() + "/docs/reference/checkpoint.md");
  BOOST_REQUIRE(!page.empty());
  const std::string step = folder.file("c/step_000000000042/");
  const std::string first_block = "```\n" + read_text(folder.file("c/run.json")) +
                                  read_text(folder.file("c/latest.json")) + read_text(step + "manifest.json") + "```\n";
  BOOST_TEST(page.find(first_block) != std::string::npos, first_block);
  const std::string second_block = "```\n" + hex_dump(read_text(step + "model.safetensors")) + "```\n";
  BOOST_TEST(page.find(second_block) != std::string::npos, second_block);
}

BOOST_AUTO_TEST_SUITE_END()
