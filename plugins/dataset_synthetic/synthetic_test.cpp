#include <array>
#include <numeric>
#include <ostream>
#include <random>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "plugins/dataset_synthetic/tokens.hpp"

#include "stc/testing/dataset.hpp"

using stc::synthetic::draw_tokens;
namespace data = boost::unit_test::data;

namespace {

/// Drawn by SyntheticTokenDataset of Speedtronic 2.0.0 with PyTorch 2.13.0 (input_ids and the last label).
struct Drawn {
  int64_t seed, sample;
  uint32_t vocab_size;
  uint64_t block_size;
  std::array<int64_t, 4> first;
  int64_t last;
  uint64_t hash;  // FNV-1a over whole tokens
};
std::ostream& operator<<(std::ostream& out, const Drawn& d) {
  return out << "seed " << d.seed << " sample " << d.sample << " vocab " << d.vocab_size << " block " << d.block_size;
}

const std::vector<Drawn> kDrawn{
    {0, 0, 512, 8, {172, 47, 117, 192}, 9, 0xb7e5561005e41676u},
    {1234, 7, 512, 32, {57, 353, 229, 184}, 336, 0x1f350c2900b4ccccu},
    {4294967295, 3, 128, 32, {40, 15, 109, 72}, 106, 0xb4c42c87003197d9u},
    {1099511627781, 99, 50257, 700, {15508, 11423, 19907, 45525}, 1737, 0xa2b35d7e6c4543c3u},
    {-1, 0, 512, 4, {419, 290, 12, 71}, 436, 0x3ae8d3352ec48cbdu},
    {42, 1, 268435455, 226, {225720133, 254954823, 200001800, 173580082}, 70700666, 0x32b63a384d25d723u},
    {42, 1, 1, 3, {0, 0, 0, 0}, 0, 0x315446a086a23133u},
    {7, 5, 300, 227, {63, 103, 22, 177}, 132, 0x30cd87fb582e540eu},
    {7, 6, 300, 228, {118, 52, 154, 176}, 240, 0x07961ce4d201b91au},
    {7, 7, 300, 623, {135, 168, 4, 254}, 24, 0x0487e6e8836ed1ebu},
    {7, 8, 300, 1300, {132, 129, 240, 273}, 118, 0x0fb243bda2aaff66u},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(dataset_synthetic)

BOOST_AUTO_TEST_CASE(conforms) {
  const stc::testing::Subject subject(&stc_plugin_entry_v1, STC_KIND_DATASET, "synthetic");
  stc::testing::DatasetCase given;
  given.config = {{"num_tokens", 200}, {"block_size", 16}, {"vocab_size", 100}, {"seed", 3}};
  const auto report = stc::testing::check_dataset(subject, given);
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(has_one_split_and_its_samples) {
  const stc::testing::Subject subject(&stc_plugin_entry_v1, STC_KIND_DATASET, "synthetic");
  stc::testing::FakeHost host;
  const stc::testing::DatasetInstance dataset(subject, host, {{"num_tokens", 20}});
  const stc::testing::detail::OpenStream test(dataset, "test"), train(dataset, "train");
  BOOST_TEST(test.error.message == "synthetic: no split test, it has train");
  stc_row_buffer buffers[2] = {};
  BOOST_TEST(train.get({3, 20}, buffers).message == "synthetic: sample 20 of 20");
  BOOST_TEST(train.get({-1}, buffers).message == "synthetic: sample -1 of 20");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tokens)

BOOST_DATA_TEST_CASE(equal_speedtronic_2_0_0, data::make(kDrawn), drawn) {
  std::vector<int64_t> tokens(drawn.block_size + 1);
  draw_tokens(static_cast<uint64_t>(drawn.seed), {&drawn.sample, 1}, drawn.vocab_size, tokens.size(), tokens.data());
  uint64_t hash = 1469598103934665603u;
  for (const int64_t token : tokens) {
    hash = (hash ^ static_cast<uint64_t>(token)) * 1099511628211u;
  }
  BOOST_CHECK_EQUAL_COLLECTIONS(tokens.begin(), tokens.begin() + 4, drawn.first.begin(), drawn.first.end());
  BOOST_CHECK_EQUAL(tokens.back(), drawn.last);
  BOOST_CHECK_EQUAL(hash, drawn.hash);
}

BOOST_DATA_TEST_CASE(do_not_depend_on_how_many_are_drawn_together, data::make({1u, 3u, 4u, 5u, 8u, 11u, 23u}), n) {
  constexpr uint64_t kCount = 640;  // more than a generator's 624 words
  std::vector<int64_t> samples(n);
  std::iota(samples.begin(), samples.end(), 1000);
  std::vector<int64_t> tokens(n * kCount);
  draw_tokens(5, samples, 1000, kCount, tokens.data());
  for (uint64_t i = 0; i < n; ++i) {
    std::mt19937 generator(static_cast<uint32_t>(1005 + i));
    for (uint64_t k = 0; k < kCount; ++k) {
      BOOST_REQUIRE_EQUAL(tokens[i * kCount + k], static_cast<int64_t>(generator() % 1000));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
