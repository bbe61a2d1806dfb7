// Errors at or above the place of a secret never show it.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

struct Slip {
  std::string file;
  std::string text;
  std::string rendered;
};
std::ostream& operator<<(std::ostream& out, const Slip& sample) { return out << sample.text; }

const std::string kAmbiguous = ", which is ambiguous: ";

const std::vector<Slip> kSlips{
    {"run.yaml", "distributed:\n  token:hfSECRET\n",
     "error: distributed: got <redacted>, expected a mapping of keys\n  at run.yaml:2:3\n"},
    {"run.yaml", "distributed: hfSECRET\n", "error: distributed: got <redacted>, expected a mapping of keys\n"},
    {"run.yaml", "hub: [hfSECRET]\n", "error: distributed: got <redacted>, expected a mapping of keys\n"},
    {"run.yaml", "diloco: hfSECRET\n", "error: distributed: got <redacted>, expected a mapping of keys\n"},
    {"run.yaml", "distributed:\n  enabled: false\n  token:hfSECRET\n",
     "error: distributed.token:<redacted>: a colon is missing after the key\n  at run.yaml:3:3\n"
     "  hint: put a space after the colon\n"},
    {"run.yaml", "hub:\n  enabled: false\n  hfSECRET\n",
     "error: hub.<redacted>: a colon is missing after the key\n  at run.yaml:3:3\n"},
    {"run.yaml", "distributed: {token:hfSECRET}\n",
     "error: distributed.token:<redacted>: unknown key\n  at run.yaml:1:15\n"
     "  hint: put a space after the colon"},
    {"run.yaml", "hub: {hfSECRET}\n", "error: distributed.<redacted>: unknown key\n"},
    {"run.yaml", "distributed: {<<: hfSECRET}\n",
     "error: distributed.<<: got <redacted>, expected a mapping or a list of mappings\n"},
    {"run.yaml", "distributed: {? [hfSECRET] : 1}\n", "error: run.yaml: got the key <redacted>, expected a word\n"},
    {"run.yaml", "distributed: {token: [hfSECRET]}\n", "error: distributed.token: got <redacted>, expected a string\n"},
    {"run.yaml", "distributed: {token: 010}\n", "error: distributed.token: got <redacted>" + kAmbiguous},
    {"run.yaml", "hub: {token: 1:30}\n", "error: hub.token: got <redacted>" + kAmbiguous},
    {"run.yaml", "diloco: 010\n", "error: diloco: got <redacted>" + kAmbiguous},
    {"run.yaml", "token: 010\n", "error: token: got <redacted>" + kAmbiguous},
    {"run.yaml", "logging: {sinks: [{name: csv, api_key: 010}]}\n",
     "error: logging.sinks[0].api_key: got <redacted>" + kAmbiguous},
    {"run.yaml", "logging: {sinks: [{api_key: hfSECRET}]}\n",
     "error: logging.sinks[0]: got a mapping without a name, expected a sink's name or "},
    {"run.yaml", "logging: {sinks: {name: csv, api_key: hfSECRET}}\n",
     "error: logging.sinks: got a mapping, expected a list of names or {name, ...keys}\n"},
    {"run.json", "{\"distributed\":{\"token\":1e400}}",
     "error: run.json: <redacted> is outside the range of a double\n  at run.json:1:25\n"},
    {"run.json", "{\"hub\":[1e400]}", "error: run.json: <redacted> is outside the range of a double\n"},
};

/// What is no secret is still shown.
const std::vector<Slip> kShown{
    {"run.yaml", "distributed: {inner_steps: 010}\n", "error: distributed.inner_steps: got 010" + kAmbiguous},
    {"run.yaml", "distributed: {tokn: x}\n", "error: distributed.tokn: unknown key\n"},
    {"run.yaml", "distributed: {tokn}\n", "error: distributed.tokn: unknown key\n"},
    {"run.yaml", "run:\n  seed: 1\n  name\n", "error: run.name: a colon is missing after the key\n"},
    {"run.json", "{\"optimizer\":{\"lr\":1e400}}", "error: run.json: 1e400 is outside the range of a double\n"},
};

BOOST_AUTO_TEST_SUITE(secrets)

BOOST_DATA_TEST_CASE(stay_out_of_errors, boost::unit_test::data::make(kSlips), sample) {
  const std::string rendered = error_of(sample.text, {}, sample.file);
  BOOST_TEST(rendered.substr(0, sample.rendered.size()) == sample.rendered);
  for (const char* secret : {"SECRET", "010,", "1:30", "1e400"}) {
    BOOST_TEST(!contains(rendered, secret), secret);
  }
}

BOOST_AUTO_TEST_CASE(do_not_hide_the_rest) {
  for (const Slip& sample : kShown) {
    const std::string rendered = error_of(sample.text, {}, sample.file);
    BOOST_TEST(rendered.substr(0, sample.rendered.size()) == sample.rendered);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
