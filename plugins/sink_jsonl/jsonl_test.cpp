
#include <clocale>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "host/events/fields.hpp"
#include "plugins/sink_jsonl/json_line.hpp"
#include "stc/plain/line_file.hpp"
#include "stc/testing/folder.hpp"

using stc::host::Event;
using stc::host::FieldValue;
namespace fs = std::filesystem;

namespace {

std::string line_of(const Event& event) {
  const std::vector<stc_field> fields = stc::host::fields_of_event(event);
  stc_event raw{};
  raw.struct_size = STC_SIZE_TO_END(stc_event, unix_time_s);
  raw.name = event.name.c_str();
  raw.fields = fields.data();
  raw.num_fields = fields.size();
  return stc::jsonl::json_line(stc::EventView(&raw));
}

std::string string_of(std::string_view text) {
  std::string out;
  stc::jsonl::append_string(out, text);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json_line)

BOOST_AUTO_TEST_CASE(puts_the_event_first_and_keeps_the_order) {
  Event event("train_step");
  event.add("step", int64_t{3}).add("loss", 2.5).add("lr", 3e-4).add("memory", FieldValue()).add("fused", true);
  BOOST_CHECK_EQUAL(line_of(event),
                    "{\"event\": \"train_step\", \"step\": 3, \"loss\": 2.5, \"lr\": 3e-04, \"memory\": null, "
                    "\"fused\": true}\n");
}

BOOST_AUTO_TEST_CASE(floats_read_back_as_the_same_double_and_stay_floats) {
  for (const double value : {0.0, -0.0, 5.0, 0.1, 2.0 / 3.0, 1e-5, 1e22, 123456789.0, 5e-324,
                             std::numeric_limits<double>::max(), std::numeric_limits<double>::min()}) {
    const auto parsed = nlohmann::json::parse(line_of(std::move(Event("e").add("x", value))));
    BOOST_TEST_CONTEXT("value " << value) {
      BOOST_CHECK(parsed["x"].is_number_float());
      BOOST_CHECK_EQUAL(parsed["x"].get<double>(), value);
      BOOST_CHECK_EQUAL(std::signbit(parsed["x"].get<double>()), std::signbit(value));
    }
  }
}

BOOST_AUTO_TEST_CASE(integers_are_exact) {
  for (const int64_t value : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{0}}) {
    const auto parsed = nlohmann::json::parse(line_of(std::move(Event("e").add("x", value))));
    BOOST_CHECK_EQUAL(parsed["x"].get<int64_t>(), value);
  }
}

BOOST_AUTO_TEST_CASE(nan_and_infinity_are_null_with_a_flag) {
  Event event("train_step");
  event.add("loss", std::nan("")).add("lr", 0.5).add("norm", -std::numeric_limits<double>::infinity());
  BOOST_CHECK_EQUAL(
      line_of(event),
      "{\"event\": \"train_step\", \"loss\": null, \"lr\": 0.5, \"norm\": null, \"nonfinite\": [\"loss\", "
      "\"norm\"]}\n");
}

BOOST_AUTO_TEST_CASE(a_name_appears_once) {
  Event event("e");
  event.add("x", int64_t{1}).add("x", int64_t{2}).add("event", int64_t{3}).add("nonfinite", int64_t{4});
  BOOST_CHECK_EQUAL(line_of(event), "{\"event\": \"e\", \"x\": 1}\n");
}

BOOST_AUTO_TEST_CASE(strings_are_escaped_and_valid_utf8) {
  BOOST_CHECK_EQUAL(string_of("a\"b\\c\n\t\x01"), "\"a\\\"b\\\\c\\n\\u0009\\u0001\"");
  BOOST_CHECK_EQUAL(string_of("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
                    "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  const std::string bad = "\xEF\xBF\xBD";
  BOOST_CHECK_EQUAL(string_of("a\xFFz"), "\"a" + bad + "z\"");
  BOOST_CHECK_EQUAL(string_of("\xC3"), "\"" + bad + "\"");                                // cut short
  BOOST_CHECK_EQUAL(string_of("\xC0\xAF"), "\"" + bad + bad + "\"");                      // overlong
  BOOST_CHECK_EQUAL(string_of("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"");            // surrogate
  BOOST_CHECK_EQUAL(string_of("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");  // above U+10FFFF
}

BOOST_AUTO_TEST_CASE(every_byte_in_a_text_gives_strict_json) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char text[] = {static_cast<char>(first), static_cast<char>(second), 'x'};
      const std::string json = string_of(std::string_view(text, 3));
      BOOST_REQUIRE_MESSAGE(nlohmann::json::accept(json), first << " " << second << ": " << json);
    }
  }
}

BOOST_AUTO_TEST_CASE(does_not_depend_on_the_locale) {
  const std::string under_c = line_of(std::move(Event("e").add("x", 1234567.5).add("n", int64_t{1234567})));
  struct Numbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Numbers));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // null where it is not generated
  const std::string under_german = line_of(std::move(Event("e").add("x", 1234567.5).add("n", int64_t{1234567})));
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
  BOOST_CHECK_EQUAL(under_german, under_c);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(line_file)

BOOST_AUTO_TEST_CASE(appends_and_creates_folders) {
  const stc::testing::Folder folder;
  const fs::path path = folder.path() / "a" / "b.jsonl";
  for (const char* line : {"one\n", "two\n"}) {
    stc::LineFile file(path.string());
    file.write(line);
  }
  BOOST_CHECK_EQUAL(stc::testing::read_file(path), "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(says_what_cannot_be_opened) {
  const auto names_it = [](const stc::Fault& fault) {
    return fault.code() == STC_ERROR_IO && std::string(fault.what()).starts_with("cannot open /proc/none/x.jsonl: ");
  };
  BOOST_CHECK_EXCEPTION(stc::LineFile("/proc/none/x.jsonl"), stc::Fault, names_it);
}

BOOST_AUTO_TEST_CASE(says_when_the_disk_is_full) {
  stc::LineFile file("/dev/full");
  const auto names_it = [](const stc::Fault& fault) {
    return std::string(fault.what()) == "cannot write /dev/full: No space left on device";
  };
  BOOST_CHECK_EXCEPTION(file.write("line\n"), stc::Fault, names_it);
}

BOOST_AUTO_TEST_CASE(finds_and_cuts_an_unfinished_line) {
  const stc::testing::Folder folder;
  const fs::path path = folder.path() / "x";
  BOOST_CHECK_EQUAL(stc::unfinished_line(path.string()), "");
  std::ofstream(path) << "one\ntwo\nthr";
  BOOST_CHECK_EQUAL(stc::unfinished_line(path.string()), "thr");
  stc::cut_end(path.string(), 3);
  BOOST_CHECK_EQUAL(stc::testing::read_file(path), "one\ntwo\n");
  BOOST_CHECK_EQUAL(stc::unfinished_line(path.string()), "");
}

BOOST_AUTO_TEST_SUITE_END()
