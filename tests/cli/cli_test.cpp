// Runs the text cases of this folder: one test case a file, one suite a subfolder.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "stc/testing/folder.hpp"
#include "tests/cli/support/case.hpp"
#include "tests/cli/support/event_log.hpp"
#include "tests/cli/support/process.hpp"

namespace stc::test {
namespace {

namespace fs = std::filesystem;
namespace ut = boost::unit_test;

std::string variable(const char* name) {
  const char* value = getenv(name);
  BOOST_REQUIRE_MESSAGE(value != nullptr, name << " is not set: run the tests through ctest");
  return value;
}

class CaseRun {
 public:
  explicit CaseRun(const std::string& file) : case_(read_case(file)) {
    values_ = {{"dir", folder_.path().string()},
               {"config", (folder_.path() / "config.yaml").string()},
               {"bin", variable("STC_TEST_BIN")},
               {"plugins", variable("STC_TEST_PLUGINS")},
               {"probes", variable("STC_TEST_PLUGINS") + "/../tests/probes/lib"},
               {"source", variable("STC_TEST_SOURCE")}};
  }

  void execute() {
    write_files();
    for (const auto& arguments : case_.setup) {
      const ProcessResult earlier = start(arguments, false);
      BOOST_REQUIRE_MESSAGE(!earlier.timed_out && earlier.exit == 0,
                            "setup run " << arguments[0] << " exited with " << earlier.exit << output_of(earlier));
    }
    result_ = start(case_.run, true);
    check_end();
    check_texts("stdout", result_.out, case_.out, case_.not_out);
    check_texts("stderr", result_.err, case_.err, case_.not_err);
    check_files();
    check_events();
    if (failed_) BOOST_TEST_MESSAGE(case_.description << output_of(result_));
  }

 private:
  std::string filled(const std::string& text) const { return expand(text, values_); }
  fs::path in_folder(const std::string& name) const { return folder_.path() / filled(name); }

  void write_files() const {
    if (!case_.config.empty()) std::ofstream(values_.at("config"), std::ios::binary) << filled(case_.config);
    for (const auto& [name, text] : case_.files) {
      fs::create_directories(in_folder(name).parent_path());
      std::ofstream(in_folder(name), std::ios::binary) << filled(text);
    }
  }

  ProcessResult start(const std::vector<std::string>& arguments, bool tested) const {
    ProcessRequest request;
    request.argv = {values_.at("bin") + "/stc-host"};
    for (const std::string& argument : arguments) request.argv.push_back(filled(argument));
    request.directory = folder_.path().string();
    request.environment = {{"HOME", folder_.path().string()},
                           {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                           {"LC_ALL", "C.UTF-8"},
                           {"TZ", "UTC"},
                           {"TMPDIR", folder_.path().string()}};
    for (const char* passed : {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH"}) {
      if (const char* value = getenv(passed)) request.environment[passed] = value;
    }
    for (const auto& [name, value] : case_.environment) request.environment[name] = filled(value);
    request.timeout_s = case_.timeout_s;
    if (tested) {
      request.input = filled(case_.input);
      request.signal = case_.signal;
      request.signal_when = case_.signal_when;
    }
    return run_process(request);
  }

  void fault(const std::string& text) {
    failed_ = true;
    BOOST_ERROR(text);
  }

  void check_end() {
    if (result_.timed_out) fault("still running after " + std::to_string(case_.timeout_s) + " s");
    if (case_.signal != 0 && !result_.signal_sent) fault("never printed \"" + case_.signal_when + "\"");
    if (result_.exit != case_.exit) {
      fault("exit code " + std::to_string(result_.exit) + ", expected " + std::to_string(case_.exit));
    }
  }

  void check_texts(const std::string& stream, const std::string& text, const std::vector<std::string>& expected,
                   const std::vector<std::string>& unwanted) {
    std::size_t from = 0;
    for (const std::string& part : expected) {
      const std::size_t at = text.find(filled(part), from);
      if (at == std::string::npos) {
        fault(stream + " lacks, in this order: " + filled(part));
        return;
      }
      from = at + filled(part).size();
    }
    for (const std::string& part : unwanted) {
      if (text.find(filled(part)) != std::string::npos) fault(stream + " holds: " + filled(part));
    }
  }

  static std::string joined(const std::set<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += " " + name;
    return out;
  }

  void check_files() {
    for (const std::string& name : case_.files_exist) {
      if (!fs::exists(in_folder(name))) fault("absent: " + name);
    }
    for (const std::string& name : case_.files_absent) {
      if (fs::exists(in_folder(name))) fault("present: " + name);
    }
    for (const auto& [name, expected] : case_.folders) {
      std::set<std::string> found;
      for (const fs::directory_entry& entry : fs::directory_iterator(in_folder(name))) {
        found.insert(entry.path().filename().string());
      }
      if (found != std::set<std::string>(expected.begin(), expected.end())) {
        fault(name + " holds other names than expected:" + joined(found));
      }
    }
    for (const auto& [name, parts] : case_.file_contains) {
      check_texts(name, stc::testing::read_file(in_folder(name)), parts, {});
    }
  }

  void check_events() {
    const fs::path log = in_folder(case_.events_file);
    if (!case_.events.IsDefined() && !fs::exists(log)) return;
    std::vector<std::string> faults;
    const std::vector<Record> records = read_event_log(stc::testing::read_file(log), faults);
    if (case_.events.IsDefined()) expect_events(records, case_.events, faults);
    for (const std::string& text : faults) fault(text);
  }

  static std::string output_of(const ProcessResult& result) {
    return "\n--- stdout\n" + result.out + "--- stderr\n" + result.err + "---";
  }

  stc::testing::Folder folder_;
  CliCase case_;
  std::map<std::string, std::string> values_;
  ProcessResult result_;
  bool failed_ = false;
};

// Before main, as BOOST_AUTO_TEST_CASE does. A case that cannot be read fails when it runs.
bool register_cases() {
  static std::map<std::string, std::vector<std::string>> suites;  // Boost.Test borrows the names of files
  for (const auto& entry : fs::recursive_directory_iterator(STC_CLI_CASES)) {
    if (entry.path().extension() == ".yaml") {
      suites[entry.path().parent_path().filename().string()].push_back(entry.path().string());
    }
  }
  for (auto& [name, files] : suites) {
    std::sort(files.begin(), files.end());
    auto* suite = BOOST_TEST_SUITE(name);
    for (const std::string& file : files) {
      suite->add(ut::make_test_case([&file] { CaseRun(file).execute(); }, fs::path(file).stem().string(), file, 1));
    }
    ut::framework::current_auto_test_suite().add(suite);
  }
  return true;
}

const bool registered = register_cases();

}  // namespace
}  // namespace stc::test
