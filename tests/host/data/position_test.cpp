#include <boost/test/unit_test.hpp>

#include "host/data/loader.hpp"
#include "host/errors/error.hpp"

using namespace stc::host;

namespace {

LoaderPosition sample_position() {
  LoaderPosition position;
  position.pass = 3;
  position.sample = 17;
  position.samples_total = 0xfedcba9876543210u;
  position.cursor = 0xffffffffffffffffu;
  position.skip = 5;
  position.carry_text = std::string("a\0\xc3", 3);
  return position;
}

std::string error_of(const Value& value) {
  try {
    position_from_value(value);
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(position)

BOOST_AUTO_TEST_CASE(survives_json) {
  const LoaderPosition position = sample_position();
  BOOST_CHECK(position_from_value(Value::parse(to_value(position).dump())) == position);
  BOOST_CHECK_EQUAL(to_value(position)["carry_text"], "6100c3");
}

BOOST_AUTO_TEST_CASE(damage_names_the_key) {
  Value value = to_value(sample_position());
  BOOST_CHECK_EQUAL(error_of(Value(3)), "data position: got 3, expected an object");
  value["sample"] = -1;
  BOOST_CHECK_EQUAL(error_of(value), "data position: sample: got -1, expected an integer >= 0");
  value["sample"] = 1.5;
  BOOST_CHECK_EQUAL(error_of(value), "data position: sample: got 1.5, expected an integer >= 0");
  value.erase("sample");
  BOOST_CHECK_EQUAL(error_of(value), "data position: sample is missing");
  value = to_value(sample_position());
  value["carry_text"] = "6";
  BOOST_CHECK_EQUAL(error_of(value), "data position: carry_text: odd number of digits, 1");
  value["carry_text"] = "6G";
  BOOST_CHECK_EQUAL(error_of(value), "data position: carry_text: got 'G', expected 0-9a-f");
  value["carry_text"] = 1;
  BOOST_CHECK_EQUAL(error_of(value), "data position: carry_text is missing or no string");
}

BOOST_AUTO_TEST_SUITE_END()
