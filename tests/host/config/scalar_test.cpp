// What an unquoted word is, and numbers there and back.

#include "host/config/scalar.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace stc::host {

struct WordCase {
  std::string word;
  PlainKind kind;
};
std::ostream& operator<<(std::ostream& out, const WordCase& sample) { return out << '"' << sample.word << '"'; }

struct NumberCase {
  std::string word;
  double value;
};
std::ostream& operator<<(std::ostream& out, const NumberCase& sample) { return out << sample.word; }

struct IntegerCase {
  std::string word;
  std::string json;  // "" when it does not fit into 64 bits
};
std::ostream& operator<<(std::ostream& out, const IntegerCase& sample) { return out << sample.word; }

struct FormatCase {
  double value;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const FormatCase& sample) { return out << sample.text; }

const std::vector<WordCase> kWords{{"", PlainKind::kNull},
                                   {"~", PlainKind::kNull},
                                   {"null", PlainKind::kNull},
                                   {"Null", PlainKind::kNull},
                                   {"NULL", PlainKind::kNull},
                                   {"nULL", PlainKind::kString},
                                   {"true", PlainKind::kBool},
                                   {"True", PlainKind::kBool},
                                   {"TRUE", PlainKind::kBool},
                                   {"tRUE", PlainKind::kString},
                                   {"yes", PlainKind::kBool},
                                   {"Yes", PlainKind::kBool},
                                   {"NO", PlainKind::kBool},
                                   {"on", PlainKind::kBool},
                                   {"Off", PlainKind::kBool},
                                   {"OFF", PlainKind::kBool},
                                   {"y", PlainKind::kString},
                                   {"n", PlainKind::kString},
                                   {"Y", PlainKind::kString},
                                   {"0", PlainKind::kInteger},
                                   {"-0", PlainKind::kInteger},
                                   {"+12", PlainKind::kInteger},
                                   {"1_000", PlainKind::kInteger},
                                   {"_1", PlainKind::kString},
                                   {"0x1F", PlainKind::kInteger},
                                   {"-0xff", PlainKind::kInteger},
                                   {"0b101", PlainKind::kInteger},
                                   {"0b2", PlainKind::kString},
                                   {"0x", PlainKind::kString},
                                   {"0xg", PlainKind::kString},
                                   {".5", PlainKind::kFloat},
                                   {"5.", PlainKind::kFloat},
                                   {"-.5", PlainKind::kFloat},
                                   {".", PlainKind::kString},
                                   {"..", PlainKind::kString},
                                   {"./x", PlainKind::kString},
                                   {"1e-4", PlainKind::kFloat},
                                   {"1E-4", PlainKind::kFloat},
                                   {"+1e-4", PlainKind::kFloat},
                                   {"1e4", PlainKind::kFloat},
                                   {"1e", PlainKind::kString},
                                   {"e4", PlainKind::kString},
                                   {"1e+", PlainKind::kString},
                                   {"1_0.5", PlainKind::kFloat},
                                   {"1.5_0", PlainKind::kFloat},
                                   {"1.2.3", PlainKind::kString},
                                   {".inf", PlainKind::kFloat},
                                   {"-.INF", PlainKind::kFloat},
                                   {".nan", PlainKind::kFloat},
                                   {".NaN", PlainKind::kFloat},
                                   {"-.nan", PlainKind::kString},
                                   {"inf", PlainKind::kString},
                                   {"nan", PlainKind::kString},
                                   {"1,2", PlainKind::kString},
                                   {"cuda:0", PlainKind::kString},
                                   {"1-2", PlainKind::kString},
                                   {"--1", PlainKind::kString},
                                   {"+-1", PlainKind::kString},
                                   {"0.0001", PlainKind::kFloat},
                                   {"00.5", PlainKind::kFloat},
                                   {"2024-01-02", PlainKind::kString}};

const std::vector<NumberCase> kNumbers{{".5", 0.5},      {"5.", 5},       {"-.5", -0.5},       {"1e-4", 1e-4},
                                       {"1E-4", 1e-4},   {"+1e-4", 1e-4}, {"1_000.5", 1000.5}, {"3e-4", 3e-4},
                                       {"1.0e-8", 1e-8}, {"0x10", 16},    {"-1_0", -10},       {"0b11", 3},
                                       {"1e+3", 1000},   {"0.1", 0.1},    {"-0.0", -0.0}};

const std::vector<IntegerCase> kIntegers{{"0", "0"},
                                         {"-0", "0"},
                                         {"1_000", "1000"},
                                         {"9007199254740993", "9007199254740993"},
                                         {"9223372036854775807", "9223372036854775807"},
                                         {"9223372036854775808", "9223372036854775808"},
                                         {"18446744073709551615", "18446744073709551615"},
                                         {"18446744073709551616", ""},
                                         {"-9223372036854775808", "-9223372036854775808"},
                                         {"-9223372036854775809", ""},
                                         {"99999999999999999999", ""},
                                         {"0xffffffffffffffff", "18446744073709551615"},
                                         {"0x1_0000", "65536"},
                                         {"0b1010", "10"}};

const std::vector<FormatCase> kFormats{{0.0, "0.0"},
                                       {-0.0, "-0.0"},
                                       {0.1, "0.1"},
                                       {60.0, "60.0"},
                                       {10000.0, "10000.0"},
                                       {3e-4, "0.0003"},
                                       {1e-8, "1.0e-08"},
                                       {1.5e-9, "1.5e-09"},
                                       {1e16, "1.0e+16"},
                                       {1e15, "1000000000000000.0"},
                                       {1.0 / 3, "0.3333333333333333"},
                                       {5e-324, "5.0e-324"},
                                       {1.7976931348623157e308, "1.7976931348623157e+308"}};

const std::vector<std::string> kAmbiguous{"010", "-010", "+07",   "00",       "08",     "0_1",       "0o17",
                                          "0O7", "1:30", "-1:30", "12:30:45", "1:30.5", "190:20:30", "1_0:5"};
const std::vector<std::string> kUnambiguous{
    "0", "10", "0x10", "0.5", "00.5", "1:60", "1:", ":1", "a:1", "0o8", "cuda:0", "1:300", "0b1", "0o"};

BOOST_AUTO_TEST_SUITE(scalar)

BOOST_DATA_TEST_CASE(classifies_words, kWords, sample) {
  BOOST_TEST(static_cast<int>(classify_plain(sample.word)) == static_cast<int>(sample.kind));
}

BOOST_DATA_TEST_CASE(reads_numbers, kNumbers, sample) {
  std::optional<double> value = parse_double(sample.word);
  BOOST_REQUIRE(value.has_value());
  BOOST_TEST(*value == sample.value);
  BOOST_TEST(std::signbit(*value) == std::signbit(sample.value));
}

BOOST_DATA_TEST_CASE(reads_integers_exactly, kIntegers, sample) {
  BOOST_REQUIRE(classify_plain(sample.word) == PlainKind::kInteger);
  std::optional<Value> value = parse_integer(sample.word);
  BOOST_TEST((value ? value->dump() : std::string()) == sample.json);
}

BOOST_AUTO_TEST_CASE(refuses_numbers_beyond_a_double) {
  BOOST_TEST(!parse_double("1e400").has_value());
  BOOST_TEST(!parse_double("-1e400").has_value());
}

BOOST_AUTO_TEST_CASE(reads_infinity_and_nan) {
  BOOST_TEST(*parse_double("-.inf") == -std::numeric_limits<double>::infinity());
  BOOST_TEST(std::isnan(*parse_double(".nan")));
}

BOOST_DATA_TEST_CASE(finds_words_that_readers_disagree_about, kAmbiguous, word) {
  BOOST_TEST(ambiguity(word).has_value());
}

BOOST_DATA_TEST_CASE(lets_clear_words_pass, kUnambiguous, word) { BOOST_TEST(!ambiguity(word).has_value()); }

BOOST_DATA_TEST_CASE(formats_doubles, kFormats, sample) { BOOST_TEST(format_double(sample.value) == sample.text); }

BOOST_AUTO_TEST_CASE(formatted_doubles_read_back_as_the_same_bits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    double value;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    std::string text = format_double(value);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(classify_plain(text) == PlainKind::kFloat);
      BOOST_REQUIRE(*parse_double(text) == value);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host
