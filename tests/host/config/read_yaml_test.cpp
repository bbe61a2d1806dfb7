// The YAML dialect: what is accepted, to which values; what is refused, where.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/document.hpp"

namespace stc::host {

struct AcceptCase {
  const char* name;
  std::string yaml;
  std::string json;
};
std::ostream& operator<<(std::ostream& out, const AcceptCase& sample) { return out << sample.name; }

struct RefuseCase {
  const char* name;
  std::string yaml;
  int line;
  int column;  // 0: not looked at
  std::string message;
};
std::ostream& operator<<(std::ostream& out, const RefuseCase& sample) { return out << sample.name; }

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

using namespace std::string_literals;

const std::vector<AcceptCase> kAccepted{
    {"nothing", "", "null"},
    {"comment only", "# nothing\n", "null"},
    {"empty section", "model:\nrun: {}\n", R"({"model":null,"run":{}})"},
    {"all nulls", "a: ~\nb: null\nc: Null\nd: NULL\ne:\n", R"({"a":null,"b":null,"c":null,"d":null,"e":null})"},
    {"booleans", "a: yes\nb: Off\nc: TRUE\nd: y\ne: n\nf: 'no'\n",
     R"({"a":true,"b":false,"c":true,"d":"y","e":"n","f":"no"})"},
    {"numbers", "a: 1_000\nb: .5\nc: 5.\nd: 1e-4\ne: 1E-4\nf: +1e-4\ng: 0x10\n",
     R"({"a":1000,"b":0.5,"c":5.0,"d":0.0001,"e":0.0001,"f":0.0001,"g":16})"},
    {"quoted numbers", "a: '1'\nb: \"2.5\"\nc: |\n  3\n", R"({"a":"1","b":"2.5","c":"3\n"})"},
    {"byte-order mark",
     "\xEF\xBB\xBF"
     "a: 1\n",
     R"({"a":1})"},
    {"byte-order mark and CRLF",
     "\xEF\xBB\xBF"
     "a: 1\r\nb:\r\n  c: x\r\n",
     R"({"a":1,"b":{"c":"x"}})"},
    {"byte-order mark and marker",
     "\xEF\xBB\xBF"
     "---\na: 1\n",
     R"({"a":1})"},
    {"lone CR", "a: 1\rb: 2\r", R"({"a":1,"b":2})"},
    {"document marker", "---\na: 1\n", R"({"a":1})"},
    {"document end", "---\na: 1\n...\n", R"({"a":1})"},
    {"directive", "%YAML 1.1\n---\na: 1\n", R"({"a":1})"},
    {"no final newline", "a: 1", R"({"a":1})"},
    {"tab before value", "a:\t1\n", R"({"a":1})"},
    {"tab before comment", "a: 1\t# one\n", R"({"a":1})"},
    {"tab comment line", "a: 1\n\t# one\nb: 2\n", R"({"a":1,"b":2})"},
    {"tab comment line in a section", "a:\n  b: 1\n\t \t# x\n\t# y\n  c: 2\n", R"({"a":{"b":1,"c":2}})"},
    {"tab only lines", "a: 1\n\t\n\t\t\nb: 2\n", R"({"a":1,"b":2})"},
    {"trailing tab", "a: x\t\nb:\t\n  c: 1\t\n", R"({"a":"x","b":{"c":1}})"},
    {"tab in strings", "a: \"x\ty\"\nb: x\ty\nc: |\n  \tz\n", R"({"a":"x\ty","b":"x\ty","c":"\tz\n"})"},
    {"tabs in flow", "a: {b:\t1,\n\tc: 2}\n", R"({"a":{"b":1,"c":2}})"},
    {"tab after dash", "a:\n-\t1\n-\t2\n", R"({"a":[1,2]})"},
    {"anchor and alias", "a: &x {b: 1}\nc: *x\nd: &y 5\ne: [*y, *y]\n", R"({"a":{"b":1},"c":{"b":1},"d":5,"e":[5,5]})"},
    {"anchor given again", "a: &x 1\nb: &x 2\nc: *x\n", R"({"a":1,"b":2,"c":2})"},
    {"merge, own key wins", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", R"({"a":{"b":1,"c":2},"d":{"c":3,"b":1}})"},
    {"own key before merge", "a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}\n", R"({"a":{"b":1,"c":2},"d":{"c":3,"b":1}})"},
    {"merge list, first wins", "x: &x {b: 1}\ny: &y {b: 2, c: 3}\nd: {<<: [*x, *y]}\n",
     R"({"x":{"b":1},"y":{"b":2,"c":3},"d":{"b":1,"c":3}})"},
    {"nested merge", "x: &x {b: 1}\ny: &y {<<: *x, c: 2}\nz: {<<: *y, d: 3}\n",
     R"({"x":{"b":1},"y":{"c":2,"b":1},"z":{"d":3,"c":2,"b":1}})"},
    {"merge of a written mapping", "<<: {a: 1}\nb: 2\n", R"({"b":2,"a":1})"},
    {"quoted merge key is a key", "\"<<\": 1\n", R"({"<<":1})"},
    {"tags", "a: !!str 5\nb: !!int \"7\"\nc: !!float 3\nd: !!null ~\ne: !!bool yes\nf: ! x\n",
     R"({"a":"5","b":7,"c":3.0,"d":null,"e":true,"f":"x"})"},
    {"collection tags", "a: !!map {b: 1}\nc: !!seq [1]\n", R"({"a":{"b":1},"c":[1]})"},
    {"explicit key", "? a\n: 1\n", R"({"a":1})"},
    {"quoted keys", "\"a\": 1\n'b': 2\n", R"({"a":1,"b":2})"},
    {"word keys", "on: 1\n1: 2\n", R"({"on":1,"1":2})"},
    {"flow without value", "a: {b, c: }\n", R"({"a":{"b":null,"c":null}})"},
    {"trailing comma", "a: [1, 2,]\n", R"({"a":[1,2]})"},
    {"quotes in strings", "a: 'it''s'\nb: \"x\\\"y\\\\\"\nc: x'y\"z\n", R"({"a":"it's","b":"x\"y\\","c":"x'y\"z"})"},
    {"multi-line strings", "a: >-\n  x\n  y\nb: \"x\n  y\"\n", R"({"a":"x y","b":"x y"})"},
    {"anchored string", "a: &q \"x\"\nb: *q\n", R"({"a":"x","b":"x"})"},
    {"characters beyond ASCII", "a: \xC3\xA9\xE2\x82\xAC\n", "{\"a\":\"\xC3\xA9\xE2\x82\xAC\"}"},
    {"colon without space", "a: cuda:0\nb: http://x\n", R"({"a":"cuda:0","b":"http://x"})"},
    {"hash without space", "a: x#y # z\n", R"({"a":"x#y"})"},
    {"large integers", "a: 9007199254740993\nb: 18446744073709551615\n",
     R"({"a":9007199254740993,"b":18446744073709551615})"},
    {"64 levels", repeated("[", 64) + repeated("]", 64), repeated("[", 64) + repeated("]", 64)},
};

const std::vector<RefuseCase> kRefused{
    {"duplicate key", "a: 1\nb: 2\na: 3\n", 3, 1, "a: given twice, on line 1 and on line 3"},
    {"duplicate section", "m:\n  x: 1\nn: 1\nm:\n  y: 2\n", 4, 1, "m: given twice, on line 1 and on line 4"},
    {"duplicate in flow", "a: {b: 1, b: 2}\n", 1, 11, "a.b: given twice, on line 1 and on line 1"},
    {"duplicate in a list", "a:\n- {b: [1]}\n- {b: [1], b: 2}\n", 3, 12,
     "a[1].b: given twice, on line 3 and on line 3"},
    {"root word", "010\n", 1, 1,
     "run.yaml: got 010, which is ambiguous: a leading zero means octal to some YAML readers and "
     "decimal to others"},
    {"duplicate in other quotes", "a: 1\n\"a\": 2\n", 2, 1, "a: given twice, on line 1 and on line 2"},
    {"octal", "x:\n  a: 010\n", 2, 6,
     "x.a: got 010, which is ambiguous: a leading zero means octal to some YAML readers and "
     "decimal to others"},
    {"sexagesimal", "a: 1:30\n", 1, 4,
     "a: got 1:30, which is ambiguous: digits with colons are a number to base 60 to some YAML "
     "readers and a string to others"},
    {"octal of 1.2", "a: [0o17]\n", 1, 5,
     "a[0]: got 0o17, which is ambiguous: 0o is an octal number to some YAML readers and a string "
     "to others"},
    {"tab as indentation", "a:\n\tb: 1\n", 2, 1, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab after spaces", "a:\n  b: 1\n  \tc: 1\n", 3, 3, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab under a key", "a:\n  b: 1\n\tc: 1\n", 3, 1, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab before the first key", "\ta: 1\n", 1, 1, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab before a list", "a:\n\t- 1\n", 2, 1, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab before a value", "a:\n\tb\n", 2, 1, "run.yaml: a tab is used as indentation, expected spaces"},
    {"tab in a list of mappings", "a:\n  -\tb: 1\n", 2, 4, "run.yaml: a tab is used as indentation, expected spaces"},
    {"two documents", "a: 1\n---\nb: 2\n", 2, 1, "run.yaml: several documents in one file, expected one"},
    {"empty second document", "a: 1\n---\n", 2, 1, "run.yaml: several documents in one file, expected one"},
    {"line outside the mapping", "  a: 1\n b: 2\n", 2, 2, "run.yaml: this line belongs to no section above it"},
    {"missing colon", "a: 1\nb\n", 2, 1, "b: a colon is missing after the key"},
    {"missing colon above a key", "a: 1\nb\nc: 2\n", 3, 2,
     "run.yaml: not valid YAML: a colon stands where no key can be"},
    {"bad dedent", "a:\n    b: 1\n  c: 2\n", 3, 3, "run.yaml: not valid YAML: this does not continue the lines above"},
    {"colon in a value", "a: b: c\n", 1, 5, "run.yaml: not valid YAML: a colon stands where no key can be"},
    {"open quote", "a: 1\nb: \"x\nc: 2\n", 2, 4, "run.yaml: the string that starts with \" is not closed"},
    {"open single quote", "b: 'x''\n", 1, 4, "run.yaml: the string that starts with ' is not closed"},
    {"open anchored quote", "b: &a 'x\n", 1, 7, "run.yaml: the string that starts with ' is not closed"},
    {"open bracket", "a: 1\nb: [1, 2\n", 2, 4, "run.yaml: the bracket opened here is not closed"},
    {"open brace", "b: {a: 1\n", 1, 4, "run.yaml: the bracket opened here is not closed"},
    {"empty list entry", "a: [1,,2]\n", 1, 7, "run.yaml: nothing stands before this comma"},
    {"empty map entry", "a: {b: 1,, c: 2}\n", 1, 10, "run.yaml: nothing stands before this comma"},
    {"null key", "~: 1\n", 1, 1, "run.yaml: got the key null, expected a word"},
    {"list as key", "[a, b]: 1\n", 1, 1, "run.yaml: got the key [a, b], expected a word"},
    {"unknown alias", "a: 1\nb: *x\n", 2, 4, "run.yaml: not valid YAML: an alias (*name) without its anchor (&name)"},
    {"alias to itself", "a: &x [*x]\n", 1, 8, "run.yaml: an alias stands inside the value that it names"},
    {"merge of a number", "a: {<<: 5}\n", 1, 9, "a.<<: got 5, expected a mapping or a list of mappings"},
    {"merge of a list of numbers", "a: {<<: [5]}\n", 1, 9, "a.<<: got [5], expected a mapping or a list of mappings"},
    {"merge twice", "x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x\n", 4, 3, "y.<<: given twice, on line 3 and on line 4"},
    {"binary tag", "a: !!binary aGk=\n", 1, 4, "run.yaml: the tag !!binary is not supported here"},
    {"own tag", "a: !python/object x\n", 1, 4, "run.yaml: the tag !python/object is not supported here"},
    {"set", "a: !!set {x}\n", 1, 4, "run.yaml: the tag !!set is not supported"},
    {"reserved character", "a: @x\n", 1, 4, "run.yaml: not valid YAML: a value cannot start with this character"},
    {"bad escape", "a: \"\\q\"\n", 1, 7, "run.yaml: not valid YAML: unknown escape character: q"},
    {"not UTF-8", "a: 1\nb: x\xFFy\n", 2, 5, "run.yaml: byte 0xff is not UTF-8"},
    {"overlong UTF-8", "a: \xC0\xAF\n", 1, 4, "run.yaml: byte 0xc0 is not UTF-8"},
    {"surrogate", "a: \xED\xA0\x80\n", 1, 4, "run.yaml: byte 0xed is not UTF-8"},
    {"cut sequence", "a: \xF0\x9F\x98", 1, 4, "run.yaml: byte 0xf0 is not UTF-8"},
    {"NUL", "a: x\0y\n"s, 1, 5, "run.yaml: control character 0x00 is not text"},
    {"escape character", "a: \x1B[0m\n", 1, 4, "run.yaml: control character 0x1b is not text"},
    {"UTF-16 with mark",
     "\xFF\xFE"
     "a\0:\0"s,
     1, 1, "run.yaml: looks like UTF-16, expected UTF-8"},
    {"UTF-16 big with mark", "\xFE\xFF\0a\0:"s, 1, 1, "run.yaml: looks like UTF-16, expected UTF-8"},
    {"UTF-16 without mark", "a\0:\0 \0"s, 1, 1, "run.yaml: looks like UTF-16, expected UTF-8"},
    {"UTF-32", "\xFF\xFE\0\0a\0\0\0"s, 1, 1, "run.yaml: looks like UTF-32, expected UTF-8"},
    {"65 levels", repeated("[", 65) + repeated("]", 65), 1, 65, "run.yaml: nested deeper than 64 levels"},
    {"very deep", repeated("[", 100000), 1, 0, "run.yaml: nested deeper than 64 levels"},
    {"very deep in blocks", repeated("- ", 5000) + "x\n", 1, 129, "run.yaml: nested deeper than 64 levels"},
    {"columns count characters", "\xC3\xA9\xC3\xA9: {a: 1, a: 2}\n", 1, 12,
     "\xC3\xA9\xC3\xA9.a: given twice, on line 1 and on line 1"},
    {"lines after CRLF", "a: 1\r\nb: 010\r\n", 2, 4,
     "b: got 010, which is ambiguous: a leading zero means octal to some YAML readers and decimal "
     "to others"},
};

BOOST_AUTO_TEST_SUITE(read_yaml_dialect)

BOOST_DATA_TEST_CASE(accepts, kAccepted, sample) {
  NodePtr root = read_yaml(sample.yaml, "run.yaml");
  BOOST_TEST(to_value(*root).dump() == sample.json);
}

BOOST_DATA_TEST_CASE(refuses, kRefused, sample) {
  try {
    NodePtr root = read_yaml(sample.yaml, "run.yaml");
    BOOST_ERROR("accepted as " << to_value(*root).dump());
  } catch (const ConfigError& error) {
    BOOST_TEST(error.what() == sample.message);
    BOOST_TEST(error.at().file == "run.yaml");
    BOOST_TEST(error.at().line == sample.line);
    if (sample.column > 0) BOOST_TEST(error.at().column == sample.column);
  }
}

BOOST_AUTO_TEST_CASE(knows_where_values_stand) {
  NodePtr root = read_yaml("a:\n  lr: -0.1\n  \"b\": [1,\n    2]\n", "run.yaml");
  const Node& section = *root->entries[0].value;
  BOOST_TEST(section.entries[0].at.str() == "run.yaml:2:3");
  BOOST_TEST(section.entries[0].value->at.str() == "run.yaml:2:7");
  BOOST_TEST(section.entries[1].value->items[1]->at.str() == "run.yaml:4:5");
}

BOOST_AUTO_TEST_CASE(merged_values_keep_their_own_place) {
  NodePtr root = read_yaml("x: &x {a: 1}\ny:\n  <<: *x\n", "run.yaml");
  BOOST_TEST(find_entry(*root->entries[1].value, "a")->value->at.str() == "run.yaml:1:11");
}

/// Eight anchors, each ten times the one before.
std::string laughs() {
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 8; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; ++k) text += ", " + before;
    text += "]\n";
  }
  return text;
}

BOOST_AUTO_TEST_CASE(refuses_aliases_that_explode) {
  BOOST_CHECK_EXCEPTION(read_yaml(laughs(), "run.yaml"), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()) == "run.yaml: aliases expand to more than 100000 values" && error.at().line == 5;
  });
}

BOOST_AUTO_TEST_CASE(accepts_aliases_below_the_limit) {
  std::string text = "a: &a [" + repeated("1, ", 998) + "1]\nb: [" + repeated("*a, ", 99) + "*a]\n";
  NodePtr root = read_yaml(text, "run.yaml");  // 100 aliases of 1000 nodes each
  BOOST_TEST(root->entries[1].value->items.size() == 100u);
  text.insert(text.size() - 2, ", *a");
  BOOST_CHECK_THROW(read_yaml(text, "run.yaml"), ConfigError);
}

BOOST_AUTO_TEST_CASE(counts_the_depth_of_aliased_values) {
  std::string deep = "a: &a " + repeated("[", 40) + repeated("]", 40) + "\n";
  BOOST_CHECK_NO_THROW(read_yaml(deep + "b: " + repeated("[", 23) + "*a" + repeated("]", 23), "run.yaml"));
  BOOST_CHECK_THROW(read_yaml(deep + "b: " + repeated("[", 24) + "*a" + repeated("]", 24), "run.yaml"), ConfigError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host
