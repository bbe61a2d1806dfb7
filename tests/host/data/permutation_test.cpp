#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "host/data/permutation.hpp"

using stc::host::KeyedPermutation;
using stc::host::PassOrder;

namespace {

std::vector<uint64_t> all_of(uint64_t n, uint64_t key) {
  const KeyedPermutation permutation(n, key);
  std::vector<uint64_t> out(n);
  for (uint64_t i = 0; i < n; ++i) out[i] = permutation(i);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(permutation)

BOOST_AUTO_TEST_CASE(is_complete_for_every_size) {
  for (uint64_t n = 1; n <= 300; ++n) {
    for (uint64_t key = 0; key < 3; ++key) {
      auto rows = all_of(n, key);
      std::sort(rows.begin(), rows.end());
      for (uint64_t i = 0; i < n; ++i) BOOST_REQUIRE_EQUAL(rows[i], i);
    }
  }
  auto rows = all_of(100003, 4);
  std::sort(rows.begin(), rows.end());
  for (uint64_t i = 0; i < rows.size(); ++i) BOOST_REQUIRE_EQUAL(rows[i], i);
}

// The order of a shuffled run: a checkpoint of any version relies on it.
BOOST_AUTO_TEST_CASE(never_changes) {
  std::vector<int64_t> rows(12);
  const PassOrder order(100, true, 1234);
  order.rows(0, 0, 12, rows.data());
  BOOST_TEST(rows == (std::vector<int64_t>{86, 65, 78, 22, 34, 64, 68, 25, 52, 15, 83, 49}),
             boost::test_tools::per_element());
  order.rows(1, 0, 12, rows.data());
  BOOST_TEST(rows == (std::vector<int64_t>{95, 45, 2, 26, 88, 92, 4, 25, 19, 74, 13, 99}),
             boost::test_tools::per_element());
  const PassOrder large(5'000'000'000, true, 0);
  large.rows(3, 4'294'967'290, 12, rows.data());
  BOOST_TEST(rows == (std::vector<int64_t>{627007158, 1381343639, 1972434666, 3228356420, 2012859387, 4055499917,
                                           183427449, 1227332895, 1570346004, 730569513, 3593686044, 4512222071}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(positions_beyond_32_bits_are_in_range_and_distinct) {
  constexpr uint64_t kRows = 5'000'000'000;
  const KeyedPermutation permutation(kRows, 7);
  std::set<uint64_t> seen;
  size_t count = 0;
  for (const uint64_t start : {uint64_t{0}, (uint64_t{1} << 31) - 500, (uint64_t{1} << 32) - 500, kRows - 1000}) {
    for (uint64_t i = start; i < start + 1000; ++i, ++count) {
      BOOST_REQUIRE_LT(permutation(i), kRows);
      seen.insert(permutation(i));
    }
  }
  BOOST_CHECK_EQUAL(seen.size(), count);
}

// Each row is equally likely at each place: chi-square with 63 degrees of freedom, five standard
// deviations wide.
BOOST_AUTO_TEST_CASE(spreads_rows_over_all_places) {
  constexpr int kPasses = 6400;
  std::vector<int> at_place_0(64), after_row_0(64);
  std::vector<int64_t> rows(64);
  const PassOrder order(64, true, 99);
  for (int pass = 0; pass < kPasses; ++pass) {
    order.rows(static_cast<uint64_t>(pass), 0, 64, rows.data());
    ++at_place_0[static_cast<size_t>(rows[0])];
    const auto zero = std::find(rows.begin(), rows.end(), 0);
    ++after_row_0[static_cast<size_t>(zero + 1 == rows.end() ? rows[0] : zero[1])];
  }
  double chi = 0;
  for (const int n : at_place_0) chi += (n - 100.0) * (n - 100.0) / 100.0;
  BOOST_CHECK_LT(chi, 63 + 5 * std::sqrt(126.0));
  chi = 0;
  for (size_t i = 1; i < 64; ++i)
    chi += (after_row_0[i] - kPasses / 63.0) * (after_row_0[i] - kPasses / 63.0) / (kPasses / 63.0);
  BOOST_CHECK_LT(chi, 62 + 5 * std::sqrt(124.0));
}

BOOST_AUTO_TEST_CASE(without_shuffle_rows_are_in_order) {
  std::vector<int64_t> rows(5);
  PassOrder(100, false, 3).rows(9, 40, 5, rows.data());
  BOOST_TEST(rows == (std::vector<int64_t>{40, 41, 42, 43, 44}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
