#include "tests/cli/support/case.hpp"

#include <csignal>
#include <functional>
#include <stdexcept>

namespace stc::test {
namespace {

using Texts = std::vector<std::string>;

// A single text counts as a list of one.
Texts texts(const YAML::Node& node) {
  if (node.IsScalar()) return {node.as<std::string>()};
  return node.as<Texts>();
}

std::map<std::string, Texts> lists(const YAML::Node& node) {
  std::map<std::string, Texts> out;
  for (const auto& entry : node) out[entry.first.as<std::string>()] = texts(entry.second);
  return out;
}

// A mapping is written as YAML, a text as it is.
std::string config_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.as<std::string>();
  YAML::Emitter out;
  out.SetStringFormat(YAML::Auto);
  out << node;
  return std::string(out.c_str()) + "\n";
}

int signal_number(const std::string& word) {
  if (word == "INT") return SIGINT;
  if (word == "TERM") return SIGTERM;
  if (word == "HUP") return SIGHUP;
  if (word == "USR1") return SIGUSR1;
  if (word == "KILL") return SIGKILL;
  throw std::runtime_error("signal: got " + word + ", expected INT, TERM, HUP, USR1 or KILL");
}

using Reader = std::function<void(CliCase&, const YAML::Node&)>;

const std::map<std::string, Reader>& readers() {
  using Map = std::map<std::string, std::string>;
  static const std::map<std::string, Reader> all = {
      {"description", [](CliCase& c, const YAML::Node& n) { c.description = n.as<std::string>(); }},
      {"files", [](CliCase& c, const YAML::Node& n) { c.files = n.as<Map>(); }},
      {"config", [](CliCase& c, const YAML::Node& n) { c.config = config_text(n); }},
      {"env", [](CliCase& c, const YAML::Node& n) { c.environment = n.as<Map>(); }},
      {"setup", [](CliCase& c, const YAML::Node& n) { c.setup = n.as<std::vector<Texts>>(); }},
      {"run", [](CliCase& c, const YAML::Node& n) { c.run = n.as<Texts>(); }},
      {"stdin", [](CliCase& c, const YAML::Node& n) { c.input = n.as<std::string>(); }},
      {"timeout", [](CliCase& c, const YAML::Node& n) { c.timeout_s = n.as<double>(); }},
      {"signal", [](CliCase& c, const YAML::Node& n) { c.signal = signal_number(n.as<std::string>()); }},
      {"signal_when", [](CliCase& c, const YAML::Node& n) { c.signal_when = n.as<std::string>(); }},
      {"exit", [](CliCase& c, const YAML::Node& n) { c.exit = n.as<int>(); }},
      {"stdout", [](CliCase& c, const YAML::Node& n) { c.out = texts(n); }},
      {"stderr", [](CliCase& c, const YAML::Node& n) { c.err = texts(n); }},
      {"not_stdout", [](CliCase& c, const YAML::Node& n) { c.not_out = texts(n); }},
      {"not_stderr", [](CliCase& c, const YAML::Node& n) { c.not_err = texts(n); }},
      {"file_contains", [](CliCase& c, const YAML::Node& n) { c.file_contains = lists(n); }},
      {"files_exist", [](CliCase& c, const YAML::Node& n) { c.files_exist = texts(n); }},
      {"files_absent", [](CliCase& c, const YAML::Node& n) { c.files_absent = texts(n); }},
      {"folders", [](CliCase& c, const YAML::Node& n) { c.folders = lists(n); }},
      {"events_file", [](CliCase& c, const YAML::Node& n) { c.events_file = n.as<std::string>(); }},
      {"events", [](CliCase& c, const YAML::Node& n) { c.events = n; }},
  };
  return all;
}

}  // namespace

CliCase read_case(const std::string& path) {
  CliCase result;
  try {
    const YAML::Node root = YAML::LoadFile(path);
    for (const char* required : {"description", "run"}) {
      if (!root[required]) throw std::runtime_error(std::string(required) + ": missing");
    }
    for (const auto& entry : root) {
      const std::string key = entry.first.as<std::string>();
      const auto reader = readers().find(key);
      if (reader == readers().end()) throw std::runtime_error(key + ": unknown key");
      try {
        reader->second(result, entry.second);
      } catch (const YAML::Exception& error) {
        throw std::runtime_error(key + ": " + error.what());
      }
    }
    if ((result.signal != 0) != !result.signal_when.empty()) {
      throw std::runtime_error("signal and signal_when go together");
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return result;
}

std::string expand(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) {
      text.replace(at, mark.size(), value);
    }
  }
  return text;
}

}  // namespace stc::test
