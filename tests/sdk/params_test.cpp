#include <clocale>
#include <limits>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "stc/plugin.hpp"
#include "stc/testing/fake_host.hpp"

using stc::Fault;
using stc::testing::FakeHost;
using stc::testing::Node;
using stc::testing::Section;

namespace {

struct Params {
  bool flag = true;
  int64_t count = -3;
  double rate = 0.1;
  std::string word = "metrics.csv";
  std::string mode = "fast";
  std::string file = "/tmp/x y";
  std::optional<int64_t> every;
  std::optional<double> limit = 1.5;
  std::vector<int64_t> sizes{1, 2};
  std::vector<double> betas{0.9, 1};
  std::vector<std::string> names{"a", "b c"};
  int64_t must = 0;
  std::string token;

  template <class V>
  static void describe(V& v) {
    v("flag", &Params::flag, "a bool")("count", &Params::count, "an int", -5, 10)("rate", &Params::rate, "a float",
                                                                                  stc::above(0.0), stc::since("1.1.0"));
    v("word", &Params::word, "a string", stc::deprecated("file"));
    v.choice("mode", &Params::mode, "a word", {"fast", "slow"});
    v.path("file", &Params::file, "a path");
    v("every", &Params::every, "nullable", 1)("limit", &Params::limit, "nullable", stc::half_open(0, 2));
    v("sizes", &Params::sizes, "ints", 0)("betas", &Params::betas, "floats", stc::range(0, 1));
    v("names", &Params::names, "words");
    v.required("must", &Params::must, "given");
    v.object("inner", "a section");
    v("token", &Params::token, "a secret", stc::secret);
  }
};

const stc_param& declared(const std::string& name) {
  for (const stc_param& param : stc::detail::declared_params<Params>()) {
    if (param.name == name) {
      return param;
    }
  }
  throw std::runtime_error(name);
}

Params read(const Section& section) {
  FakeHost host;
  const Params params = stc::detail::read_params<Params>(stc::Host(host.table()), section.raw());
  BOOST_TEST(host.errors_alive() == 0);
  return params;
}

struct Wrong {
  const char* key;
  Node value;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.key << " " << wrong.message; }

const Wrong kWrong[] = {
    {"flag", 1, "got int, expected bool"},
    {"count", 11, "got 11, expected >= -5 and <= 10"},
    {"count", 1.0, "got float, expected int"},
    {"rate", 0.0, "got 0.0, expected > 0.0"},
    {"rate", std::numeric_limits<double>::quiet_NaN(), "got .nan, expected > 0.0"},
    {"rate", "fast", "got string, expected float"},
    {"rate", nullptr, "got null, expected float"},
    {"mode", "quick", "got quick, expected one of fast, slow"},
    {"every", 0, "got 0, expected >= 1"},
    {"limit", 2.0, "got 2.0, expected >= 0.0 and < 2.0"},
    {"sizes", Node::List{1, -1}, "got -1, expected >= 0"},
    {"sizes", Node::List{1, 2.5}, "got list, expected list of int"},
    {"betas", 0.5, "got float, expected list of float"},
    {"names", Node::List{1}, "got list, expected list of string"},
};

struct Text {
  double value;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const Text& text) { return out << text.text; }

const Text kTexts[] = {{0.1, "0.1"},
                       {1, "1.0"},
                       {-0.0, "-0.0"},
                       {1e-8, "1.0e-8"},
                       {1.25e-10, "1.25e-10"},
                       {6.02e23, "6.02e+23"},
                       {1e300, "1.0e+300"},
                       {0.30000000000000004, "0.30000000000000004"},
                       {5e-324, "5.0e-324"},
                       {std::numeric_limits<double>::infinity(), ".inf"},
                       {-std::numeric_limits<double>::infinity(), "-.inf"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(params)

BOOST_AUTO_TEST_CASE(are_declared_in_the_order_of_describe) {
  std::string order;
  for (const stc_param& param : stc::detail::declared_params<Params>()) {
    BOOST_TEST(param.struct_size == STC_SIZE_TO_END(stc_param, deprecated));
    order += std::string(param.name) + " ";
  }
  BOOST_TEST(order == "flag count rate word mode file every limit sizes betas names must inner token ");
}

BOOST_AUTO_TEST_CASE(have_types_defaults_and_limits) {
  BOOST_TEST(declared("flag").type == STC_PARAM_BOOL);
  BOOST_TEST(declared("flag").default_text == "true");
  BOOST_TEST(declared("count").type == STC_PARAM_INT);
  BOOST_TEST(declared("count").default_text == "-3");
  BOOST_TEST(declared("count").flags == (STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX));
  BOOST_TEST(declared("count").min == -5);
  BOOST_TEST(declared("count").max == 10);
  BOOST_TEST(declared("rate").type == STC_PARAM_FLOAT);
  BOOST_TEST(declared("rate").flags == (STC_PARAM_HAS_MIN | STC_PARAM_MIN_EXCLUSIVE));
  BOOST_TEST(declared("rate").since == "1.1.0");
  BOOST_TEST(declared("word").deprecated == "file");
  BOOST_TEST(declared("word").default_text == "metrics.csv");
  BOOST_TEST(declared("file").type == STC_PARAM_PATH);
  BOOST_TEST(declared("file").default_text == "\"/tmp/x y\"");
  BOOST_TEST(declared("sizes").type == STC_PARAM_INT_LIST);
  BOOST_TEST(declared("sizes").default_text == "[1, 2]");
  BOOST_TEST(declared("betas").type == STC_PARAM_FLOAT_LIST);
  BOOST_TEST(declared("betas").default_text == "[0.9, 1.0]");
  BOOST_TEST(declared("names").type == STC_PARAM_STRING_LIST);
  BOOST_TEST(declared("names").default_text == "[a, \"b c\"]");
  BOOST_TEST(declared("inner").type == STC_PARAM_OBJECT);
  BOOST_TEST(declared("token").flags == STC_PARAM_SECRET);
  BOOST_TEST(declared("token").default_text == "\"\"");
}

BOOST_AUTO_TEST_CASE(nullopt_is_nullable_without_default_text) {
  BOOST_TEST((declared("every").flags & STC_PARAM_NULLABLE) != 0u);
  BOOST_TEST(declared("every").default_text == nullptr);
  BOOST_TEST((declared("limit").flags & STC_PARAM_NULLABLE) != 0u);
  BOOST_TEST(declared("limit").default_text == "1.5");
  BOOST_TEST((declared("rate").flags & STC_PARAM_NULLABLE) == 0u);
}

BOOST_AUTO_TEST_CASE(required_has_no_default) {
  BOOST_TEST((declared("must").flags & STC_PARAM_REQUIRED) != 0u);
  BOOST_TEST(declared("must").default_text == nullptr);
}

BOOST_AUTO_TEST_CASE(enum_values_end_with_null) {
  const stc_param& mode = declared("mode");
  BOOST_TEST(mode.type == STC_PARAM_ENUM);
  BOOST_TEST(std::string(mode.enum_values[0]) == "fast");
  BOOST_TEST(std::string(mode.enum_values[1]) == "slow");
  BOOST_TEST(mode.enum_values[2] == nullptr);
}

BOOST_AUTO_TEST_CASE(declared_defaults_read_back_as_a_default_params) {
  Section section{{"must", 7}};
  for (const stc_param& param : stc::detail::declared_params<Params>()) {
    if (param.default_text != nullptr) {
      section.set(param.name, stc::testing::parse_default(param.type, param.default_text));
    }
  }
  const Params params = read(section), fresh;
  BOOST_TEST(params.flag == fresh.flag);
  BOOST_TEST(params.count == fresh.count);
  BOOST_TEST(params.rate == fresh.rate);
  BOOST_TEST(params.word == fresh.word);
  BOOST_TEST(params.file == fresh.file);
  BOOST_TEST(params.limit.value() == fresh.limit.value());
  BOOST_TEST(params.sizes == fresh.sizes, boost::test_tools::per_element());
  BOOST_TEST(params.betas == fresh.betas, boost::test_tools::per_element());
  BOOST_TEST(params.names == fresh.names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(given_values_are_read) {
  const Params params = read({{"must", 1},
                              {"flag", false},
                              {"rate", 2},
                              {"mode", "slow"},
                              {"every", 5},
                              {"limit", nullptr},
                              {"betas", Node::List{0, 0.5}},
                              {"names", Node::List{}}});
  BOOST_TEST(!params.flag);
  BOOST_TEST(params.rate == 2.0);
  BOOST_TEST(params.mode == "slow");
  BOOST_TEST(params.every.value() == 5);
  BOOST_TEST(!params.limit.has_value());
  BOOST_TEST(params.betas.at(1) == 0.5);
  BOOST_TEST(params.names.empty());
}

BOOST_AUTO_TEST_CASE(a_missing_required_key_is_named) {
  BOOST_CHECK_EXCEPTION(read({}), Fault, [](const Fault& fault) {
    return fault.code() == STC_ERROR_INVALID_CONFIG && fault.key() == "must" &&
           std::string(fault.what()) == "is required";
  });
}

BOOST_DATA_TEST_CASE(wrong_values_name_key_found_and_allowed, kWrong, wrong) {
  BOOST_CHECK_EXCEPTION(read(Section{{"must", 1}, {wrong.key, wrong.value}}), Fault, [&](const Fault& fault) {
    BOOST_TEST(fault.what() == wrong.message);
    return fault.code() == STC_ERROR_INVALID_CONFIG && fault.key() == wrong.key;
  });
}

BOOST_DATA_TEST_CASE(numbers_are_short_and_round_trip, kTexts, sample) {
  BOOST_TEST(stc::detail::yaml_text(sample.value) == sample.text);
  const Node back = stc::testing::parse_default(STC_PARAM_FLOAT, sample.text);
  BOOST_TEST(std::get<double>(back.data) == sample.value);
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_locale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const bool comma = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  BOOST_TEST_MESSAGE((comma ? "with de_DE.UTF-8" : "de_DE.UTF-8 is not installed: the C locale alone"));
  BOOST_TEST(stc::detail::yaml_text(0.5) == "0.5");
  BOOST_TEST(stc::detail::yaml_text(int64_t{1234567}) == "1234567");
  std::setlocale(LC_ALL, before.c_str());
}

BOOST_AUTO_TEST_CASE(words_that_yaml_reads_otherwise_are_quoted) {
  for (const char* word :
       {"true", "No", "NULL", "on", "y", "1", "-1", "0x10", "", " a", "a b", "a:b", "#x", "[x", "~", "a,b"}) {
    BOOST_TEST(stc::detail::yaml_text(std::string(word)) == "\"" + std::string(word) + "\"");
  }
  BOOST_TEST(stc::detail::yaml_text(std::string("a/b-c_d.e")) == "a/b-c_d.e");
  BOOST_TEST(stc::detail::yaml_text(std::string("q\"\\\n\x01")) == "\"q\\\"\\\\\\n\\x01\"");
}

BOOST_AUTO_TEST_SUITE_END()
