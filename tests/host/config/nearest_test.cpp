#include "host/config/nearest.hpp"

#include <boost/test/unit_test.hpp>

namespace stc::host {

BOOST_AUTO_TEST_SUITE(nearest_words)

BOOST_AUTO_TEST_CASE(counts_edits) {
  BOOST_TEST(edit_distance("", "") == 0u);
  BOOST_TEST(edit_distance("lr", "") == 2u);
  BOOST_TEST(edit_distance("weigth_decay", "weight_decay") == 1u);  // neighbours swapped
  BOOST_TEST(edit_distance("Name", "name") == 0u);
  BOOST_TEST(edit_distance("kitten", "sitting") == 3u);
}

BOOST_AUTO_TEST_CASE(takes_the_closest) {
  BOOST_TEST(nearest("batas", {"eps", "betas", "bias"}).value() == "betas");
  BOOST_TEST(nearest("lrr", {"lr", "fused"}).value() == "lr");
}

BOOST_AUTO_TEST_CASE(is_silent_when_nothing_is_close) {
  BOOST_TEST(!nearest("hidden_size", {"lr", "betas"}).has_value());
  BOOST_TEST(!nearest("x", {"y"}).has_value());
  BOOST_TEST(!nearest("anything", {}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host
