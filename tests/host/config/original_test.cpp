// Run files of Speedtronic 2.0.0 and what it prints for them.

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/settings.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {
namespace {

const std::vector<std::string> kFiles{
    "diloco",          "diloco_master", "doc_master_min", "doc_quickstart", "doc_readme_custom_model",
    "doc_v2_explicit", "smoke",         "v2_smoke"};

std::string source_folder() {
  const char* folder = std::getenv("STC_TEST_SOURCE");
  BOOST_REQUIRE_MESSAGE(folder != nullptr, "STC_TEST_SOURCE is not set; run the test by ctest");
  return folder;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in.good(), path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Value expected(const std::string& name) {
  return Value::parse(slurp(source_folder() + "/tests/host/config/original/" + name + ".json"));
}

Config load_original(const std::string& name) {
  FakeCatalog catalog;
  LoadRequest request = printing();
  request.path = source_folder() + "/configs/speedtronic/" + name + ".yaml";
  return load_config(request, catalog);
}

/// Every key of `theirs` is in `ours` with the same value and the same type of number.
void check_covers(const Value& ours, const Value& theirs, const std::string& path) {
  if (theirs.is_object()) {
    for (const auto& [key, value] : theirs.items()) {
      BOOST_TEST_REQUIRE(ours.contains(key), path + "." + key);
      check_covers(ours.at(key), value, path + "." + key);
    }
    return;
  }
  BOOST_TEST(ours.dump() == theirs.dump(), path << ": " << ours.dump() << " is not " << theirs.dump());
}

std::vector<std::string> keys_of(const Value& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(original)

BOOST_DATA_TEST_CASE(prints_what_2_0_0_prints, kFiles, name) {
  check_covers(load_original(name).root(), expected(name), name);
}

BOOST_DATA_TEST_CASE(prints_keys_of_ours_after_those_of_2_0_0, kFiles, name) {
  Value ours = load_original(name).root();
  Value theirs = expected(name);
  std::vector<std::string> sections = keys_of(ours);
  std::vector<std::string> their_sections = keys_of(theirs);
  BOOST_TEST(std::vector<std::string>(sections.begin(), sections.begin() + static_cast<long>(their_sections.size())) ==
                 their_sections,
             boost::test_tools::per_element());
  for (const auto& [section, content] : theirs.items()) {
    if (!content.is_object()) continue;
    std::vector<std::string> keys = keys_of(ours.at(section));
    std::vector<std::string> their_keys = keys_of(content);
    BOOST_TEST_CONTEXT(section) {
      BOOST_TEST(
          std::vector<std::string>(keys.begin(), keys.begin() + static_cast<long>(their_keys.size())) == their_keys,
          boost::test_tools::per_element());
    }
  }
}

BOOST_DATA_TEST_CASE(reads_its_own_output_to_the_same_values, kFiles, name) {
  Config first = load_original(name);
  FakeCatalog catalog;
  Config from_yaml = load(to_yaml(first.redacted()), catalog, printing(), "printed.yaml");
  Config from_json = load(to_json(first.redacted()), catalog, printing(), "printed.json");
  BOOST_TEST(from_yaml.root().dump() == first.root().dump());
  BOOST_TEST(from_json.root().dump() == first.root().dump());
}

BOOST_DATA_TEST_CASE(reads_the_printed_json_of_2_0_0_to_the_same_values, kFiles, name) {
  FakeCatalog catalog;
  Config config = load(expected(name).dump(2), catalog, printing(), "theirs.json");
  check_covers(config.root(), expected(name), name);
}

BOOST_AUTO_TEST_CASE(runs_smoke_without_a_warning) {
  FakeCatalog catalog;
  LoadRequest request;
  request.path = source_folder() + "/configs/speedtronic/smoke.yaml";
  Config config = load_config(request, catalog);
  BOOST_TEST(warnings_of(config) == "");
  BOOST_TEST(make_settings(config).run.target_step == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
