// One order of batches, whatever the number of workers and what is prefetched.
#include <set>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
using stc::testing::Folder;
namespace data = boost::unit_test::data;

namespace {

/// Ids of the samples of `n` batches of synthetic data whose vocabulary makes first tokens distinct.
std::vector<std::vector<int64_t>> passes(Loader& loader, size_t num_passes, size_t batches) {
  std::vector<std::vector<int64_t>> out(num_passes);
  for (auto& pass : out) {
    for (size_t i = 0; i < batches; ++i) {
      const auto batch = loader.next();
      const auto ids = values<int64_t>(batch->fields[0]);
      const size_t width = ids.size() / static_cast<size_t>(batch->rows);
      for (int64_t row = 0; row < batch->rows; ++row) pass.push_back(ids[static_cast<size_t>(row) * width]);
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order)

BOOST_DATA_TEST_CASE(does_not_depend_on_workers_and_prefetch, data::make(all_sources()), source) {
  const Folder folder;
  const auto parts = source.make(folder);
  DataSettings settings = source.settings;
  const auto expected = trace(*parts->loader(settings), 80);
  for (const int64_t workers : {0, 1, 4}) {
    for (const int64_t prefetch : {1, 8}) {
      for (const uint64_t piece_bytes : {uint64_t{5}, uint64_t{1} << 18}) {
        settings.num_workers = workers;
        settings.prefetch_factor = prefetch;
        const auto got = trace(*parts->loader(settings, {piece_bytes}), 80);
        for (size_t i = 0; i < expected.size(); ++i) {
          BOOST_REQUIRE_MESSAGE(got[i] == expected[i], "workers " << workers << " prefetch " << prefetch << " batch "
                                                                  << i << "\n"
                                                                  << got[i] << "\nexpected\n"
                                                                  << expected[i]);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(shuffled_passes_are_complete_and_differ) {
  const auto parts = synthetic_data(64, 2, 1 << 20, 9);
  DataSettings settings = settings_of(2, 4);
  settings.shuffle = true;
  settings.seed = 5;
  settings.num_workers = 3;
  const auto first = passes(*parts->loader(settings), 3, 16);
  std::set<int64_t> all(first[0].begin(), first[0].end());
  BOOST_REQUIRE_EQUAL(all.size(), 64u);
  for (const auto& pass : first) BOOST_CHECK(std::set<int64_t>(pass.begin(), pass.end()) == all);
  BOOST_CHECK(first[0] != first[1]);
  BOOST_CHECK(first[1] != first[2]);
  BOOST_CHECK(first[0] != first[2]);
  BOOST_CHECK(passes(*parts->loader(settings), 3, 16) == first);
  settings.seed = 6;
  BOOST_CHECK(passes(*parts->loader(settings), 3, 16)[0] != first[0]);
  settings.shuffle = false;
  const auto plain = passes(*parts->loader(settings), 2, 16);
  BOOST_CHECK(plain[0] == plain[1]);
  BOOST_CHECK(plain[0] != first[0]);
}

BOOST_AUTO_TEST_CASE(no_block_comes_twice_and_only_one_is_dropped) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 1001; ++i) {  // blocks of 8 bytes that differ
    char block[16];
    std::snprintf(block, sizeof block, "%08d", i);
    text += block;
  }
  const auto parts = text_data(write_file(folder, "a.txt", text));
  for (const int64_t workers : {0, 4}) {
    DataSettings settings = settings_of(7, 4);
    settings.num_workers = workers;
    const auto loader = parts->loader(settings);
    std::set<std::vector<int64_t>> blocks;
    int64_t tokens = 0;
    for (int i = 0; i < 250; ++i) {
      const auto batch = loader->next();
      tokens += batch->tokens;
      const auto ids = values<int64_t>(batch->fields[0]);
      const auto labels = values<int64_t>(batch->fields[1]);
      for (size_t row = 0; row < 4; ++row) {
        std::vector<int64_t> block(ids.begin() + static_cast<std::ptrdiff_t>(row * 7),
                                   ids.begin() + static_cast<std::ptrdiff_t>(row * 7 + 7));
        block.push_back(labels[row * 7 + 6]);
        blocks.insert(block);
      }
    }
    BOOST_CHECK_EQUAL(blocks.size(), 1000u);
    BOOST_CHECK_EQUAL(tokens, 7000);
    BOOST_CHECK_EQUAL(loader->position().pass, 1u);
    BOOST_CHECK_EQUAL(loader->position().sample, 0u);
    BOOST_CHECK_EQUAL(loader->position().samples_total, 1000u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
