#include <clocale>
#include <cmath>
#include <limits>
#include <locale>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/events/fields.hpp"
#include "host/events/text.hpp"

using namespace stc::host;

namespace {

struct Printed {
  double value;
  const char* general;   // "%.6g" of Python
  const char* shortest;  // repr of Python
};
std::ostream& operator<<(std::ostream& out, const Printed& sample) { return out << sample.shortest; }

// Made with Python 3.11: print("%.6g" % x, repr(x)).
const Printed kPrinted[] = {
    {0.0, "0", "0.0"},
    {-0.0, "-0", "-0.0"},
    {1.0, "1", "1.0"},
    {0.1, "0.1", "0.1"},
    {2.0 / 3.0, "0.666667", "0.6666666666666666"},
    {123456.0, "123456", "123456.0"},
    {1234567.0, "1.23457e+06", "1234567.0"},
    {0.0001, "0.0001", "0.0001"},
    {0.00001, "1e-05", "1e-05"},
    {3e-4, "0.0003", "0.0003"},
    {1e16, "1e+16", "1e+16"},
    {9999999999999998.0, "1e+16", "9999999999999998.0"},
    {1.5e300, "1.5e+300", "1.5e+300"},
    {5e-324, "4.94066e-324", "5e-324"},
    {std::numeric_limits<double>::infinity(), "inf", "inf"},
    {-std::numeric_limits<double>::infinity(), "-inf", "-inf"},
    {std::numeric_limits<double>::quiet_NaN(), "nan", "nan"},
    {-std::numeric_limits<double>::quiet_NaN(), "nan", "nan"},
};

// A locale that writes 0,5 and 1.000, installed at both the C and the C++ side.
struct GermanNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};
struct ForeignLocale {
  ForeignLocale() : before(std::locale::global(std::locale(std::locale(), new GermanNumbers))) {
    std::setlocale(LC_ALL, "de_DE.UTF-8");  // null where it is not generated
  }
  ~ForeignLocale() {
    std::setlocale(LC_ALL, "C");
    std::locale::global(before);
  }
  std::locale before;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(event_text)

BOOST_DATA_TEST_CASE(floats_print_as_in_python, boost::unit_test::data::make(kPrinted), sample) {
  BOOST_CHECK_EQUAL(to_text(FieldValue(sample.value)), sample.general);
  BOOST_CHECK_EQUAL(shortest_float(sample.value), sample.shortest);
}

BOOST_AUTO_TEST_CASE(a_line_has_the_form_of_speedtronic) {
  Event event("train_start");
  event.add("start_step", int64_t{0})
      .add("device", std::string("cpu"))
      .add("shape_alignment", FieldValue())
      .add("compiled", true)
      .add("fused", false)
      .add("lr", 3e-4);
  BOOST_CHECK_EQUAL(to_text(event),
                    "train_start start_step=0 device=cpu shape_alignment=None compiled=True fused=False lr=0.0003");
}

BOOST_AUTO_TEST_CASE(a_text_cannot_break_the_line) {
  Event event("note");
  event.add("error", std::string("a\nb\r\x1b[2J\tc"));
  BOOST_CHECK_EQUAL(to_text(event), "note error=a\\nb\\r\\x1b[2J\\tc");
}

BOOST_AUTO_TEST_CASE(one_line_keeps_text_and_escapes_the_rest) {
  BOOST_CHECK_EQUAL(one_line("plain, \u00e4\u00f6\u00fc \u20ac \U0001f600"),
                    "plain, \u00e4\u00f6\u00fc \u20ac \U0001f600");
  BOOST_CHECK_EQUAL(one_line("one\ntwo \xff\x01"), "one\\ntwo \\xff\\x01");
  BOOST_CHECK_EQUAL(one_line("\x7f \xc2\x9b[2J \u2028"), "\\x7f \\xc2\\x9b[2J \\xe2\\x80\\xa8");
  BOOST_CHECK_EQUAL(one_line("cut \xe2\x82"), "cut \\xe2\\x82");
  BOOST_CHECK_EQUAL(one_line("overlong \xc0\xaf, surrogate \xed\xa0\x80"),
                    "overlong \\xc0\\xaf, surrogate \\xed\\xa0\\x80");
}

BOOST_AUTO_TEST_CASE(names_cannot_break_the_line_either) {
  Event event("two\nlines");
  event.add("k\xff", int64_t{1});
  BOOST_CHECK_EQUAL(to_text(event), "two\\nlines k\\xff=1");
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_locale) {
  const ForeignLocale foreign;
  BOOST_CHECK_EQUAL(to_text(FieldValue(1234.5)), "1234.5");
  BOOST_CHECK_EQUAL(to_text(FieldValue(int64_t{1234567})), "1234567");
  BOOST_CHECK_EQUAL(shortest_float(1234567.25), "1234567.25");
}

BOOST_AUTO_TEST_CASE(durations) {
  BOOST_CHECK_EQUAL(duration_text(0), "0:00");
  BOOST_CHECK_EQUAL(duration_text(59.6), "1:00");
  BOOST_CHECK_EQUAL(duration_text(3723), "1:02:03");
  BOOST_CHECK_EQUAL(duration_text(-1), "?");
  BOOST_CHECK_EQUAL(duration_text(std::nan("")), "?");
}

BOOST_AUTO_TEST_CASE(fields_survive_the_abi) {
  Event event("all");
  event.add("none", FieldValue())
      .add("yes", true)
      .add("no", false)
      .add("int", std::numeric_limits<int64_t>::min())
      .add("real", 0.1)
      .add("text", std::string("with \0 inside", 13));
  const std::vector<stc_field> fields = fields_of_event(event);
  const Event back = event_from_fields("all", fields.data(), fields.size());
  BOOST_CHECK_EQUAL(back.name, event.name);
  BOOST_CHECK(back.fields == event.fields);
}

BOOST_AUTO_TEST_SUITE_END()
