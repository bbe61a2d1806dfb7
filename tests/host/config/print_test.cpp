// The printed document: readable by ourselves and by YAML 1.1, secrets hidden.

#include <cstdlib>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/document.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {
namespace {

using namespace std::string_literals;

const std::vector<std::string> kTexts{"plain",
                                      "two words",
                                      "",
                                      " ",
                                      " lead",
                                      "trail ",
                                      "~",
                                      "null",
                                      "Null",
                                      "true",
                                      "yes",
                                      "off",
                                      "1",
                                      "1.5",
                                      "1e-4",
                                      "1e4",
                                      "010",
                                      "1:30",
                                      "0o17",
                                      ".5",
                                      ".inf",
                                      "-",
                                      "- a",
                                      "-a",
                                      "?",
                                      ": x",
                                      "a: b",
                                      "a:",
                                      "a #b",
                                      "#a",
                                      "a#b",
                                      "[a]",
                                      "{a}",
                                      "a, b",
                                      "&a",
                                      "*a",
                                      "!a",
                                      "|",
                                      ">",
                                      "%a",
                                      "@a",
                                      "`a",
                                      "'a'",
                                      "\"a\"",
                                      "a\"b",
                                      "back\\slash",
                                      "a\tb",
                                      "line\nbreak",
                                      "\r",
                                      "\x01",
                                      "\x7F",
                                      "\xC2\x85",
                                      "\xE2\x80\xA8",
                                      "\xEF\xBB\xBF",
                                      "\xC3\xA9t\xC3\xA9",
                                      "https://x/y?z=1&a",
                                      "cuda:0",
                                      "C:\\x",
                                      "a:b",
                                      "<<",
                                      "=",
                                      "2024-01-02",
                                      "a\0b"s,
                                      "---",
                                      "...",
                                      "./x",
                                      "~/x",
                                      "/x"};

}  // namespace

BOOST_AUTO_TEST_SUITE(print)

BOOST_DATA_TEST_CASE(strings_survive_yaml, kTexts, text) {
  Value document{{"section", {{"key", text}, {"list", Value::array({text, 1})}}}, {text + "k", text}};
  NodePtr root = read_yaml(to_yaml(document), "printed.yaml");
  BOOST_TEST(to_value(*root).dump() == document.dump());
}

BOOST_DATA_TEST_CASE(strings_survive_json, kTexts, text) {
  Value document{{"section", {{"key", text}, {"list", Value::array({text, 1})}}}};
  NodePtr root = read_json(to_json(document), "printed.json");
  BOOST_TEST(to_value(*root).dump() == document.dump());
}

BOOST_AUTO_TEST_CASE(yaml_is_laid_out_by_section) {
  Value document = Value::parse(
      R"({"run":{"name":"a","seed":1,"x":null,"eps":1e-8,"rate":60.0,"on":true},"empty":{},"compile":false,)"
      R"("logging":{"sinks":[{"name":"csv","path":"a.csv"},"b"],"none":[],"map":{"k":[1,2.5]}}})");
  BOOST_TEST(to_yaml(document) ==
             "run:\n  name: a\n  seed: 1\n  x: null\n  eps: 1.0e-08\n  rate: 60.0\n  \"on\": true\n"
             "empty: {}\ncompile: false\n"
             "logging:\n  sinks:\n    - {name: csv, path: a.csv}\n    - b\n  none: []\n  map: {k: "
             "[1, 2.5]}\n");
}

BOOST_AUTO_TEST_CASE(json_has_two_spaces_and_shortest_numbers) {
  BOOST_TEST(to_json(Value{{"a", {{"b", 0.1}, {"c", 60.0}, {"d", 60}}}}) ==
             "{\n  \"a\": {\n    \"b\": 0.1,\n    \"c\": 60.0,\n    \"d\": 60\n  }\n}");
}

BOOST_AUTO_TEST_CASE(a_full_document_reads_back_to_the_same_values) {
  FakeCatalog catalog;
  Config config = load(
      "name: 'yes'\nseed: 18446744073709551615\noptimizer: {lr: 3e-4, betas: [0, 0.5], cautious: "
      "true}\n"
      "logging: {json_file: 'a: b', sinks: [csv, {name: jsonl, path: '#x'}]}\ncheckpoint: "
      "{keep_last: null}\n"
      "data: {text_path: \"a\\tb.txt\", pin_memory: false, validation_path: {a: x, 'b c': y}}\n"
      "ema: {decay: 0.5}\nplugins: {pins: {x: '010'}}\n"
      "distributed: {token: geheim, repo_id: ~/x, collaborators: ['1', b]}\n",
      catalog, printing());
  Config yaml = load(to_yaml(config.root()), catalog, printing());
  Config json = load(to_json(config.root()), catalog, printing(), "run.json");
  BOOST_TEST(yaml.root().dump() == config.root().dump());
  BOOST_TEST(json.root().dump() == config.root().dump());
  BOOST_TEST(config_from_value(config.root(), catalog).root().dump() == config.root().dump());
}

BOOST_AUTO_TEST_CASE(secrets_are_redacted) {
  Config config = load("distributed: {token: geheim}\nlogging: {sinks: [{name: csv, api_key: geheim}]}\n");
  BOOST_TEST(config.at("distributed.token") == "geheim");
  BOOST_TEST(config.redacted()["distributed"]["token"] == "<redacted>");
  BOOST_TEST(config.redacted()["logging"]["sinks"][0]["api_key"] == "<redacted>");
  BOOST_TEST(!contains(to_yaml(config.redacted()) + to_json(config.redacted()), "geheim"));
  BOOST_TEST(load("").redacted()["distributed"]["token"].is_null());
  BOOST_TEST(load("distributed: {token: ''}\n").redacted()["distributed"]["token"] == "");
}

BOOST_AUTO_TEST_CASE(a_stored_configuration_must_be_a_mapping) {
  FakeCatalog catalog;
  BOOST_CHECK_THROW(config_from_value(Value::array({1}), catalog), ConfigError);
  BOOST_CHECK_EXCEPTION(
      config_from_value(Value{{"run", {{"max_steps", 0}}}}, catalog), ConfigError, [](const ConfigError& error) {
        return error.render() == "error: run.max_steps: got 0, expected > 0\n  at stored configuration\n";
      });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
