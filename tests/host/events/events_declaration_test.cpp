#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "stc/events.hpp"

namespace {

const char* word(stc::events::Type type) {
  switch (type) {
    case stc::events::Type::kBool: return "bool";
    case stc::events::Type::kInt: return "int";
    case stc::events::Type::kFloat: return "float";
    case stc::events::Type::kText: return "text";
  }
  return "?";
}

const char* word(stc::events::Presence presence) {
  switch (presence) {
    case stc::events::Presence::kAlways: return "always";
    case stc::events::Presence::kNullable: return "nullable";
    case stc::events::Presence::kOptional: return "optional";
  }
  return "?";
}

// One line a field, as in tests/surface/events.txt.
std::string surface() {
  std::ostringstream text;
  for (const auto& event : stc::events::kAll) {
    for (const auto& field : event.fields) {
      text << event.name << ' ' << field.name << ' ' << word(field.type) << ' ' << word(field.presence) << '\n';
    }
  }
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_declarations)

BOOST_AUTO_TEST_CASE(equal_the_frozen_surface) {
  const char* source = std::getenv("STC_TEST_SOURCE");
  BOOST_REQUIRE(source != nullptr);
  std::ifstream in(std::string(source) + "/tests/surface/events.txt");
  std::string frozen;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') frozen += line + "\n";
  }
  BOOST_TEST(surface() == frozen, "sdk/include/stc/events.hpp and tests/surface/events.txt differ; declared:\n"
                                      << surface());
}

BOOST_AUTO_TEST_CASE(names_are_unique) {
  std::set<std::string_view> events;
  for (const auto& event : stc::events::kAll) {
    BOOST_CHECK_MESSAGE(events.insert(event.name).second, event.name);
    BOOST_CHECK(stc::events::find(event.name) != nullptr);
    std::set<std::string_view> fields;
    for (const auto& field : event.fields) {
      BOOST_CHECK_MESSAGE(fields.insert(field.name).second, event.name << "." << field.name);
      BOOST_CHECK_MESSAGE(!field.doc.empty(), event.name << "." << field.name);
    }
  }
  BOOST_CHECK(stc::events::find("no_such_event") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
