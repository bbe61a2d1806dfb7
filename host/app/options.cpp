#include "host/app/options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

#include <boost/program_options.hpp>

#include "stc/abi/core.h"
#include "stc/version.hpp"

#include "host/config/nearest.hpp"

namespace stc::host {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr unsigned kHelpWidth = 100;

/// What is needed to parse and explain one command.
struct CommandSpec {
  CommandSpec(std::string n, std::string u, std::string s)
      : name(std::move(n)), usage(std::move(u)), summary(std::move(s)) {}

  std::string name;
  std::string usage;    // after the name
  std::string summary;  // one line
  po::options_description options{"options", kHelpWidth};
  Words hidden;             // options that --help does not list
  bool takes_file = false;  // one positional word
};

[[noreturn]] void usage_error(const CommandSpec& spec,
                              const std::string& message,
                              std::string hint = {}) {
  if (hint.empty()) hint = "stc-host " + spec.name + " --help lists the options";
  throw UsageError(spec.name + ": " + message, hint);
}

po::typed_value<std::string>* word(const char* shown) {
  return po::value<std::string>()->value_name(shown);
}
po::typed_value<Words>* words_of(const char* shown) {
  return po::value<Words>()->value_name(shown);
}

void add_help(po::options_description& options) {
  options.add_options()("help,h", "print this and exit");
}

void add_plugin_path(po::options_description& options) {
  options.add_options()("plugin-path",
                        words_of("PATH"),
                        "folder of plugins or one .so file, searched first; may be repeated");
}

void add_config_options(po::options_description& options) {
  options.add_options()("config", word("FILE"), "the run file, instead of the FILE argument")(
      "set", words_of("KEY=VALUE"), "override one key, e.g. optimizer.lr=0.01; may be repeated")(
      "resume", po::bool_switch(), "continue from the newest valid checkpoint")(
      "device", word("DEVICE"), "override run.device: auto, cpu, cuda, cuda:N, mps")(
      "max-steps", word("N"), "override the target of optimizer steps")(
      "output-dir", word("DIR"), "override run.output_dir");
  add_plugin_path(options);
}

void add_format(po::options_description& options, const char* shown) {
  options.add_options()("format", word(shown), "form of the output");
}

CommandSpec run_spec(const std::string& name) {
  CommandSpec spec{name,
                   name == "train" ? "--config FILE [options]" : "FILE [options]",
                   name == "train" ? "the same as run, in the spelling of 2.0.0"
                                   : "train what a run file describes"};
  spec.takes_file = true;
  add_config_options(spec.options);
  return spec;
}

CommandSpec validate_spec() {
  CommandSpec spec{
      "validate", "FILE [options]", "check a run file and print it completed, secrets redacted"};
  spec.takes_file = true;
  add_format(spec.options, "yaml|json");
  spec.options.add_options()(
      "deep", po::bool_switch(), "also build everything that a run would use, without training");
  add_config_options(spec.options);
  return spec;
}

CommandSpec explain_spec() {
  CommandSpec spec{"explain",
                   "FILE [KEY] [options]",
                   "tell value, default, range, meaning and origin of each key"};
  spec.takes_file = true;
  spec.options.add_options()("key", word("KEY"), "a section or a key, instead of the KEY argument");
  add_format(spec.options, "text|json|markdown");
  add_config_options(spec.options);
  return spec;
}

CommandSpec plugins_list_spec() {
  CommandSpec spec{"plugins list", "[options]", "list the plugins found, without loading them"};
  add_format(spec.options, "text|json");
  add_plugin_path(spec.options);
  return spec;
}

CommandSpec plugins_describe_spec() {
  CommandSpec spec{"plugins describe",
                   "[[KIND/]NAME | FILE.so] [options]",
                   "describe a plugin and its parameters; all plugins without a name"};
  spec.options.add_options()("name", word("NAME"), "the plugin, instead of the NAME argument");
  add_format(spec.options, "text|json|markdown");
  add_plugin_path(spec.options);
  return spec;
}

CommandSpec plugins_check_spec() {
  CommandSpec spec{"plugins check",
                   "FILE.so [options]",
                   "load a library in a process of its own and try its plugins"};
  spec.options.add_options()("file", word("FILE"), "the library, instead of the FILE argument");
  add_plugin_path(spec.options);
  spec.options.add_options()("report-fd", word("N"), "")("scratch", word("DIR"), "");
  spec.hidden = {"report-fd", "scratch"};
  return spec;
}

CommandSpec inspect_spec() {
  CommandSpec spec{"inspect", "PATH [options]", "list and verify a checkpoint"};
  spec.options.add_options()("path", word("PATH"), "the checkpoint, instead of the PATH argument")(
      "no-verify", po::bool_switch(), "do not read the tensors to compare their hashes");
  add_format(spec.options, "text|json");
  return spec;
}

CommandSpec generate_spec() {
  CommandSpec spec{
      "generate", "CHECKPOINT --prompt TEXT [options]", "continue a text with a trained model"};
  spec.options.add_options()(
      "checkpoint", word("PATH"), "the checkpoint, instead of the CHECKPOINT argument")(
      "prompt", word("TEXT"), "text to continue")(
      "max-tokens", word("N"), "most tokens to add, >= 1 (default 100)")(
      "temperature", word("T"), "softness of the choice, >= 0; 0 takes the likeliest (default 1)")(
      "top-k", word("K"), "choose among the K likeliest; 0: all (default 0)")(
      "seed", word("N"), "seed of the choice (default 0)")(
      "ema", po::bool_switch(), "use the moving average of the weights");
  add_plugin_path(spec.options);
  return spec;
}

/// The commands in the order of --help.
std::vector<CommandSpec> command_specs() {
  std::vector<CommandSpec> specs;
  specs.push_back(run_spec("run"));
  specs.push_back(run_spec("train"));
  specs.push_back(validate_spec());
  specs.push_back(explain_spec());
  specs.push_back(plugins_list_spec());
  specs.push_back(plugins_describe_spec());
  specs.push_back(plugins_check_spec());
  specs.push_back(inspect_spec());
  specs.push_back(generate_spec());
  for (CommandSpec& spec : specs) add_help(spec.options);
  return specs;
}

std::string help_of(const CommandSpec& spec) {
  po::options_description shown("options", kHelpWidth);
  for (const auto& option : spec.options.options()) {
    if (std::find(spec.hidden.begin(), spec.hidden.end(), option->long_name()) == spec.hidden.end())
      shown.add(option);
  }
  std::ostringstream text;
  text << "usage: stc-host " << spec.name << " " << spec.usage << "\n\n"
       << spec.summary << "\n\n"
       << shown;
  return text.str();
}

/// `filter` "plugins": only the commands of that group.
std::string help_of_all(const std::vector<CommandSpec>& specs, const std::string& filter) {
  std::ostringstream text;
  text << "usage: stc-host " << (filter.empty() ? "" : filter + " ")
       << "COMMAND [options]\n\ncommands:\n";
  for (const CommandSpec& spec : specs) {
    if (!filter.empty() && !spec.name.starts_with(filter + " ")) continue;
    text << "  " << spec.name << std::string(19 - std::min<size_t>(18, spec.name.size()), ' ')
         << spec.summary << "\n";
  }
  if (filter.empty()) text << "\n  --version          print the version and exit\n";
  text << "\nstc-host COMMAND --help explains one. Exit codes: 0 done, 2 handled error, 4 the last "
          "checkpoint could\n"
          "not be written, 130 and 143 stopped by SIGINT and SIGTERM after saving.\n";
  return text.str();
}

std::string version_text() {
  return std::string("stc-host ") + STC_VERSION + ", plugin ABI " + std::to_string(STC_ABI_MAJOR) +
         "." + std::to_string(STC_ABI_MINOR) + "\n";
}

/// Options as given, and the positional words.
struct Given {
  const CommandSpec& spec;
  po::variables_map options;
  Words positional;

  bool has(const char* name) const { return options.count(name) != 0; }
  std::string text(const char* name) const { return options[name].as<std::string>(); }
  bool flag(const char* name) const { return options[name].as<bool>(); }
  Words list(const char* name) const { return has(name) ? options[name].as<Words>() : Words{}; }
};

[[noreturn]] void unknown_option(const CommandSpec& spec, const std::string& given) {
  Words known;
  for (const auto& option : spec.options.options()) known.push_back("--" + option->long_name());
  const std::string name = given.substr(0, given.find('='));
  const std::optional<std::string> close = nearest(name, known);
  usage_error(spec,
              name + ": unknown option",
              (close ? "nearest option is " + *close + "; " : "") + "stc-host " + spec.name +
                  " --help lists the options");
}

po::parsed_options parse_words(const CommandSpec& spec, const Words& words) {
  using namespace po::command_line_style;
  try {
    return po::command_line_parser(words)
        .options(spec.options)
        .style(unix_style & ~allow_guessing)
        .allow_unregistered()
        .run();
  } catch (const po::invalid_command_line_syntax& error) {
    const auto kind = error.kind();
    if (kind == po::invalid_command_line_syntax::missing_parameter ||
        kind == po::invalid_command_line_syntax::empty_adjacent_parameter) {
      usage_error(spec, error.get_option_name() + ": a value is missing");
    }
    usage_error(spec, error.get_option_name() + ": takes no value");
  } catch (const po::error& error) {
    usage_error(spec, error.what());
  }
}

Given parse_options(const CommandSpec& spec, const Words& words) {
  Given given{spec, {}, {}};
  const po::parsed_options parsed = parse_words(spec, words);
  for (const auto& option : parsed.options) {
    if (option.unregistered) unknown_option(spec, option.original_tokens.front());
    if (option.position_key >= 0) {
      given.positional.insert(given.positional.end(), option.value.begin(), option.value.end());
    }
  }
  try {
    po::store(parsed, given.options);
  } catch (const po::multiple_occurrences& error) {
    usage_error(spec, error.get_option_name() + ": given twice");
  } catch (const po::error& error) {
    usage_error(spec, error.what());
  }
  return given;
}

/// One word that may be positional or an option; empty when optional and absent.
std::string take_word(Given& given, const char* option, const char* what, bool required) {
  std::string value;
  if (given.has(option)) {
    value = given.text(option);
    if (value.empty()) usage_error(given.spec, std::string("--") + option + ": is empty");
  } else if (!given.positional.empty()) {
    value = given.positional.front();
    given.positional.erase(given.positional.begin());
    if (value.empty()) usage_error(given.spec, std::string(what) + " is empty");
  }
  if (required && value.empty()) usage_error(given.spec, std::string(what) + " is missing");
  return value;
}

void expect_no_more(const Given& given) {
  if (!given.positional.empty()) {
    usage_error(given.spec, "\"" + given.positional.front() + "\": unexpected argument");
  }
}

template <class Number>
Number number_of(const Given& given,
                 const char* option,
                 const char* allowed,
                 bool (*fits)(Number)) {
  const std::string text = given.text(option);
  Number value{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || !fits(value)) {
    usage_error(given.spec,
                std::string("--") + option + ": got \"" + text + "\", expected " + allowed);
  }
  return value;
}

std::string format_of(const Given& given, const Words& allowed) {
  if (!given.has("format")) return allowed.front();
  const std::string format = given.text("format");
  if (std::find(allowed.begin(), allowed.end(), format) != allowed.end()) return format;
  usage_error(given.spec, "--format: got \"" + format + "\", expected one of " + join(allowed));
}

void fill_config(Given& given, ConfigArguments& arguments) {
  arguments.file = take_word(given, "config", "the run file", true);
  arguments.sets = given.list("set");
  for (const std::string& set : arguments.sets) {
    if (set.find('=') == std::string::npos || set.starts_with('=')) {
      usage_error(given.spec,
                  "--set: got \"" + set + "\", expected key=value",
                  "for example --set optimizer.lr=0.01");
    }
  }
  if (given.flag("resume")) arguments.resume = true;
  if (given.has("device")) arguments.device = given.text("device");
  if (given.has("output-dir")) arguments.output_dir = given.text("output-dir");
  if (given.has("max-steps")) {
    arguments.max_steps =
        number_of<int64_t>(given, "max-steps", "an integer >= 1", [](int64_t n) { return n >= 1; });
  }
  arguments.plugin_paths = given.list("plugin-path");
}

CommandArguments generate_arguments(Given& given) {
  GenerateArguments arguments;
  arguments.checkpoint = take_word(given, "checkpoint", "the checkpoint", true);
  if (!given.has("prompt"))
    usage_error(given.spec, "--prompt is missing", "for example --prompt \"Once upon a time\"");
  arguments.prompt = given.text("prompt");
  if (given.has("max-tokens")) {
    arguments.max_tokens = number_of<int64_t>(
        given, "max-tokens", "an integer >= 1", [](int64_t n) { return n >= 1; });
  }
  if (given.has("temperature")) {
    arguments.temperature = number_of<double>(
        given, "temperature", "a number >= 0", [](double t) { return t >= 0 && t < 1e308; });
  }
  if (given.has("top-k")) {
    arguments.top_k =
        number_of<int64_t>(given, "top-k", "an integer >= 0", [](int64_t n) { return n >= 0; });
  }
  if (given.has("seed")) {
    arguments.seed = number_of<uint64_t>(
        given, "seed", "an integer from 0 to 2^64 - 1", [](uint64_t) { return true; });
  }
  arguments.ema = given.flag("ema");
  arguments.plugin_paths = given.list("plugin-path");
  return arguments;
}

CommandArguments describe_arguments(Given& given) {
  PluginsArguments arguments;
  arguments.plugin_paths = given.list("plugin-path");
  arguments.target = take_word(given, "name", "the plugin", false);
  arguments.format = format_of(given, {"text", "json", "markdown"});
  return arguments;
}

CommandArguments check_arguments(Given& given) {
  PluginsCheckArguments arguments;
  arguments.plugin_paths = given.list("plugin-path");
  arguments.target = take_word(given, "file", "the library", true);
  if (given.has("scratch")) arguments.scratch = given.text("scratch");
  if (given.has("report-fd")) {
    arguments.report_fd =
        number_of<int>(given, "report-fd", "a descriptor", [](int n) { return n >= 0; });
  }
  return arguments;
}

CommandArguments to_arguments(Given& given) {
  const std::string& name = given.spec.name;
  if (name == "run" || name == "train") {
    ConfigArguments arguments;
    fill_config(given, arguments);
    return arguments;
  }
  if (name == "validate") {
    ValidateArguments arguments;
    arguments.format = format_of(given, {"yaml", "json"});
    arguments.deep = given.flag("deep");
    fill_config(given, arguments);
    return arguments;
  }
  if (name == "explain") {
    ExplainArguments arguments;
    arguments.format = format_of(given, {"text", "json", "markdown"});
    fill_config(given, arguments);
    arguments.key = take_word(given, "key", "the key", false);
    return arguments;
  }
  if (name == "plugins list") {
    return PluginsListArguments{given.list("plugin-path"), format_of(given, {"text", "json"})};
  }
  if (name == "inspect") {
    InspectArguments arguments;
    arguments.path = take_word(given, "path", "the checkpoint", true);
    arguments.format = format_of(given, {"text", "json"});
    arguments.verify = !given.flag("no-verify");
    return arguments;
  }
  if (name == "generate") return generate_arguments(given);
  if (name == "plugins describe") return describe_arguments(given);
  return check_arguments(given);
}

[[noreturn]] void unknown_command(const std::vector<CommandSpec>& specs,
                                  const std::string& group,
                                  const std::string& given) {
  Words known;
  for (const CommandSpec& spec : specs) {
    if (group.empty()) {
      known.push_back(spec.name.substr(0, spec.name.find(' ')));
    } else if (spec.name.starts_with(group + " ")) {
      known.push_back(spec.name.substr(group.size() + 1));
    }
  }
  const std::string full = group.empty() ? given : group + " " + given;
  const std::optional<std::string> close = nearest(given, known);
  const bool option = given.starts_with('-');
  throw UsageError(
      full + (option ? ": unknown option" : ": unknown command"),
      (close ? "nearest command is " + (group.empty() ? "" : group + " ") + *close + "; " : "") +
          "stc-host " + (group.empty() ? "" : group + " ") + "--help lists the commands");
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h";
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
  const std::vector<CommandSpec> specs = command_specs();
  if (words.empty()) throw UsageError("no command given", "stc-host --help lists the commands");
  Words rest = words;
  bool help = rest.front() == "help";
  if (help) rest.erase(rest.begin());
  if (rest.empty() || asks_for_help(rest.front()))
    return {"help", PrintText{help_of_all(specs, "")}};
  if (rest.front() == "--version") return {"version", PrintText{version_text()}};

  std::string name = rest.front();
  rest.erase(rest.begin());
  const std::string group = name == "plugins" ? name : "";
  if (!group.empty()) {
    if (rest.empty() && !help)
      throw UsageError("plugins: no command given", "stc-host plugins --help lists the commands");
    if (rest.empty() || asks_for_help(rest.front()))
      return {"help", PrintText{help_of_all(specs, group)}};
    name += " " + rest.front();
    rest.erase(rest.begin());
  }
  const auto spec = std::find_if(
      specs.begin(), specs.end(), [&](const CommandSpec& s) { return s.name == name; });
  if (spec == specs.end()) {
    unknown_command(specs, group, group.empty() ? name : name.substr(group.size() + 1));
  }
  help =
      help || std::any_of(rest.begin(), std::find(rest.begin(), rest.end(), "--"), asks_for_help);
  if (help) return {"help", PrintText{help_of(*spec)}};

  Given given = parse_options(*spec, rest);
  CommandArguments arguments = to_arguments(given);
  expect_no_more(given);
  return {name == "train" ? "run" : name, std::move(arguments)};
}

}  // namespace stc::host
