// The commands and options, and the configuration keys, against their frozen lists.

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/support/process.hpp"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  BOOST_REQUIRE_MESSAGE(value != nullptr, name << " is not set: run the tests through ctest");
  return value;
}

std::string output_of(const std::vector<std::string>& arguments) {
  stc::test::ProcessRequest request;
  request.argv = {variable("STC_TEST_BIN") + "/stc-host"};
  request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
  request.directory = ".";
  request.environment = {{"LC_ALL", "C.UTF-8"}, {"PATH", "/usr/bin:/bin"}};
  const stc::test::ProcessResult result = stc::test::run_process(request);
  BOOST_REQUIRE_MESSAGE(result.exit == 0, arguments.front() << " exited with " << result.exit << "\n" << result.err);
  return result.out;
}

// Whole file without its comment lines.
std::string frozen(const std::string& name) {
  std::ifstream in(variable("STC_TEST_SOURCE") + "/tests/surface/" + name);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("#")) text += line + "\n";
  }
  return text;
}

void check_surface(const std::string& name, const std::string& now) {
  if (now == frozen(name)) return;
  std::ofstream(name) << now;
  BOOST_ERROR("tests/surface/" + name +
              " differs from the program; if that is meant, take over its lines from the file " + name +
              " in the folder of this test, and say so in CHANGELOG.md. Now:\n" + now);
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  const std::regex form(pattern);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, form)) found.push_back(match[1]);
  }
  return found;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(surface)

BOOST_AUTO_TEST_CASE(commands_and_options) {
  const std::string all = output_of({"--help"});
  const auto commands = matches(all, "^  ([a-z][a-z-]*(?: [a-z]+)?)  +[a-z]");
  BOOST_REQUIRE_GE(commands.size(), 9u);
  std::string now;
  for (const std::string& command : commands) {
    std::vector<std::string> arguments = words(command);
    arguments.push_back("--help");
    const auto options = matches(output_of(arguments), R"(^  (?:-\w \[ )?(--[a-z-]+(?: [A-Z|a-z/=]+)?))");
    BOOST_CHECK_GE(options.size(), 1u);
    for (const std::string& option : options) now += command + " " + option + "\n";
  }
  check_surface("cli.txt", now);
}

// Of a run that names nothing: the host's own keys, and those of the plugins that are chosen by default.
BOOST_AUTO_TEST_CASE(configuration_keys) {
  std::ofstream("empty.yaml") << "{}\n";
  const auto keys = nlohmann::json::parse(output_of({"explain", "empty.yaml", "--format", "json"}));
  BOOST_REQUIRE(keys.is_array());
  std::string now;
  for (const auto& key : keys) {
    const auto range = key.at("range").get<std::string>();
    const auto& choices = key.at("choices");
    now += key.at("key").get<std::string>() + ": " + key.at("type").get<std::string>() +
           (range.empty() ? "" : " " + range) + (choices.empty() ? "" : " " + choices.dump()) + ", default " +
           key.at("default").dump() + "\n";
  }
  check_surface("keys.txt", now);
}

BOOST_AUTO_TEST_SUITE_END()
