// JSON run files are read strictly, with places.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/document.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host {

struct JsonRefusal {
  const char* name;
  std::string json;
  int line;
  int column;
  std::string message;
};
std::ostream& operator<<(std::ostream& out, const JsonRefusal& sample) { return out << sample.name; }

const std::vector<JsonRefusal> kJsonRefusals{
    {"comment", "{\n  // x\n  \"a\": 1\n}", 2, 3, "run.json: not valid JSON: "},
    {"hash comment", "{\"a\": 1 # x\n}", 1, 9, "run.json: not valid JSON: "},
    {"trailing comma", "{\n  \"a\": 1,\n}", 3, 1, "run.json: not valid JSON: "},
    {"trailing comma in a list", "{\"a\": [1,]}", 1, 10, "run.json: not valid JSON: "},
    {"NaN", "{\"a\":\n NaN}", 2, 2, "run.json: not valid JSON: "},
    {"Infinity", "{\"a\": -Infinity}", 1, 8, "run.json: not valid JSON: "},
    {"single quotes", "{'a': 1}", 1, 2, "run.json: not valid JSON: "},
    {"leading zero", "{\"a\": 010}", 1, 9, "run.json: not valid JSON: "},
    {"point without digits", "{\"a\": 5.}", 1, 9, "run.json: not valid JSON: "},
    {"plus sign", "{\"a\": +5}", 1, 7, "run.json: not valid JSON: "},
    {"nothing", "", 1, 1, "run.json: not valid JSON: "},
    {"cut off", "{\"a\": [1, 2", 1, 12, "run.json: not valid JSON: "},
    {"two values", "{} {}", 1, 4, "run.json: not valid JSON: "},
    {"control character", "{\"a\": \"x\ny\"}", 1, 9, "run.json: not valid JSON: "},
    {"duplicate", "{\"a\": 1,\n\"b\": 2,\n \"a\": 3}", 3, 2, "a: given twice, on line 1 and on line 3"},
    {"duplicate, escaped", "{\"a\": 1,\n\"\\u0061\": 2}", 2, 1, "a: given twice, on line 1 and on line 2"},
    {"duplicate inside", "{\"r\": [0, {\"a\": 1, \"a\": 1}]}", 1, 20, "r[1].a: given twice, on line 1 and on line 1"},
    {"beyond a double", "{\"a\": 1,\n\"lr\": 1e400}", 2, 7, "run.json: 1e400 is outside the range of a double"},
    {"byte-order mark", "\xEF\xBB\xBF{}", 1, 1, "run.json: starts with a byte-order mark, expected plain UTF-8"},
    {"not UTF-8", "{\"a\": \"\xFF\"}", 1, 8, "run.json: byte 0xff is not UTF-8"},
    {"too deep", std::string(65, '[') + std::string(65, ']'), 1, 65, "run.json: nested deeper than 64 levels"},
    {"far too deep", std::string(200000, '['), 1, 65, "run.json: nested deeper than 64 levels"},
};

BOOST_AUTO_TEST_SUITE(read_json_strictly)

BOOST_DATA_TEST_CASE(refuses, kJsonRefusals, sample) {
  try {
    NodePtr root = read_json(sample.json, "run.json");
    BOOST_ERROR("accepted as " << to_value(*root).dump());
  } catch (const ConfigError& error) {
    std::string message = error.what();
    BOOST_TEST(message.substr(0, sample.message.size()) == sample.message);
    BOOST_TEST(error.at().line == sample.line);
    BOOST_TEST(error.at().column == sample.column);
    BOOST_TEST_MESSAGE(error.render());
  }
}

BOOST_AUTO_TEST_CASE(reads_every_kind_of_value_exactly) {
  const std::string text =
      "{\"a\": [1, -2, 2.5, 1e-4, true, false, null, \"x\\n\\u00e9\\\"\"],\r\n"
      " \"big\": 9007199254740993, \"seed\": 18446744073709551615, \"min\": -9223372036854775808,\n"
      " \"o\": {}, \"l\": [], \"f\": 60.0, \"i\": 60}";
  BOOST_TEST(to_value(*read_json(text, "run.json")).dump() ==
             "{\"a\":[1,-2,2.5,0.0001,true,false,null,\"x\\n\xC3\xA9\\\"\"],\"big\":9007199254740993,"
             "\"seed\":18446744073709551615,\"min\":-9223372036854775808,\"o\":{},\"l\":[],\"f\":60.0,"
             "\"i\":60}");
}

BOOST_AUTO_TEST_CASE(strings_stay_strings) {
  NodePtr root = read_json("{\"a\": \"1\", \"b\": \"true\", \"c\": \"null\", \"d\": \"\"}", "run.json");
  BOOST_TEST(to_value(*root).dump() == R"({"a":"1","b":"true","c":"null","d":""})");
}

BOOST_AUTO_TEST_CASE(knows_where_keys_and_values_stand) {
  NodePtr root = read_json("{\n  \"a{,:\\\"\": [1, {\"b\"\n : \"x,y\"}],\n  \"\xC3\xA9\": 1, \"c\": 2}", "run.json");
  BOOST_TEST(root->entries[0].at.str() == "run.json:2:3");
  const Node& list = *root->entries[0].value;
  BOOST_TEST(list.at.str() == "run.json:2:13");
  BOOST_TEST(list.items[0]->at.str() == "run.json:2:14");
  BOOST_TEST(list.items[1]->entries[0].at.str() == "run.json:2:18");
  BOOST_TEST(list.items[1]->entries[0].value->at.str() == "run.json:3:4");
  BOOST_TEST(root->entries[2].at.str() == "run.json:4:11");
}

BOOST_AUTO_TEST_CASE(long_lines_are_read_in_linear_time) {
  std::string text = "[";
  for (int i = 0; i < 300000; ++i) text += "1,";
  text += "1]";
  NodePtr root = read_json(text, "run.json");
  BOOST_TEST(root->items.size() == 300001u);
  BOOST_TEST(root->items.back()->at.column == 600002);
}

BOOST_AUTO_TEST_CASE(a_file_without_a_yaml_name_is_json) {
  BOOST_TEST(test::error_of("run: {max_steps: 2}\n", {}, "run.cfg").find("not valid JSON") != std::string::npos);
  BOOST_TEST(test::error_of("run: {max_steps: 200}\n", {}, "run.YML") == "");
  BOOST_TEST(test::error_of("{\"run\": {\"max_steps\": 200}}", {}, "run.cfg") == "");
}

BOOST_AUTO_TEST_CASE(a_root_that_is_no_mapping_is_refused) {
  using test::error_of;
  BOOST_TEST(error_of("[1]", {}, "run.json")
                 .starts_with("error: run.json: holds a list, expected a mapping of sections\n  at "
                              "run.json:1:1\n"));
  BOOST_TEST(error_of("null", {}, "run.json").starts_with("error: run.json: holds a single value"));
  BOOST_TEST(error_of("- 1\n").starts_with("error: run.yaml: holds a list"));
  BOOST_TEST(error_of("x\n").starts_with("error: run.yaml: holds a single value"));
  BOOST_TEST(error_of("~\n") == "");
  BOOST_TEST(error_of("") == "");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read) {
  test::FakeCatalog catalog;
  LoadRequest request;
  request.path = "missing/run.yaml";
  BOOST_CHECK_EXCEPTION(load_config(request, catalog), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()) == "missing/run.yaml: cannot be opened: no such file or directory";
  });
  request.path = ".";
  BOOST_CHECK_EXCEPTION(load_config(request, catalog), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()) == ".: is a folder, expected a run file";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host
