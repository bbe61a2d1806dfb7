#include "host/app/options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/program_options.hpp>

#include "host/app/command_specs.hpp"
#include "host/config/nearest.hpp"

namespace stc::host {
namespace {

[[noreturn]] void usage_error(const CommandSpec& spec, const std::string& message, std::string hint = {}) {
  if (hint.empty()) hint = "stc-host " + spec.name + " --help lists the options";
  throw UsageError(spec.name + ": " + message, hint);
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
  usage_error(
      spec, name + ": unknown option",
      (close ? "nearest option is " + *close + "; " : "") + "stc-host " + spec.name + " --help lists the options");
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

template <class Number, class Fits>
Number number_of(const Given& given, const char* option, const char* allowed, Fits&& fits) {
  const std::string text = given.text(option);
  Number value{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && !text.starts_with('-')) {
    // The range that is asked for would read as if the number were in it.
    allowed = std::is_floating_point_v<Number> ? "a number in the range of a double"
              : std::is_signed_v<Number>       ? "an integer of 64 bits"
                                               : allowed;
  }
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || !fits(value)) {
    usage_error(given.spec, std::string("--") + option + ": got \"" + text + "\", expected " + allowed);
  }
  return value;
}

/// Sets `to` where the option is given.
void read_count(const Given& given, const char* option, int64_t least, int64_t most, int64_t& to) {
  if (!given.has(option)) return;
  const std::string allowed = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  to = number_of<int64_t>(given, option, allowed.c_str(), [=](int64_t n) { return n >= least && n <= most; });
}

uint64_t seed_of(const Given& given) {
  return number_of<uint64_t>(given, "seed", "an integer from 0 to 2^64 - 1", [](uint64_t) { return true; });
}

std::string format_of(const Given& given, const Words& allowed) {
  if (!given.has("format")) return allowed.front();
  const std::string format = given.text("format");
  if (std::find(allowed.begin(), allowed.end(), format) != allowed.end()) return format;
  usage_error(given.spec, "--format: got \"" + format + "\", expected one of " + join(allowed));
}

void fill_config(Given& given, ConfigArguments& arguments, bool file_required = true) {
  arguments.file = take_word(given, "config", "the run file", file_required);
  arguments.sets = given.list("set");
  for (const std::string& set : arguments.sets) {
    if (set.find('=') == std::string::npos || set.starts_with('=')) {
      // What follows the key may be a secret: --set distributed.token:hf_...
      const size_t end = std::min(set.find_first_of(": \t"), set.size());
      usage_error(given.spec,
                  "--set: got \"" + set.substr(0, end) + (end < set.size() ? "..." : "") + "\", expected key=value",
                  "for example --set optimizer.lr=0.01");
    }
  }
  if (given.has("resume") && given.flag("resume")) arguments.resume = true;
  if (given.has("device")) arguments.device = given.text("device");
  if (given.has("output-dir")) arguments.output_dir = given.text("output-dir");
  if (given.has("max-steps")) {
    arguments.max_steps = number_of<int64_t>(given, "max-steps", "an integer >= 1", [](int64_t n) { return n >= 1; });
  }
  arguments.plugin_paths = given.list("plugin-path");
}

CommandArguments generate_arguments(Given& given) {
  GenerateArguments arguments;
  arguments.checkpoint = take_word(given, "checkpoint", "the checkpoint", true);
  if (!given.has("prompt")) usage_error(given.spec, "--prompt is missing", "for example --prompt \"Once upon a time\"");
  arguments.prompt = given.text("prompt");
  if (given.has("max-tokens")) {
    arguments.max_tokens = number_of<int64_t>(given, "max-tokens", "an integer >= 1", [](int64_t n) { return n >= 1; });
  }
  if (given.has("temperature")) {
    arguments.temperature =
        number_of<double>(given, "temperature", "a number >= 0", [](double t) { return t >= 0 && t < 1e308; });
  }
  if (given.has("top-k")) {
    arguments.top_k = number_of<int64_t>(given, "top-k", "an integer >= 0", [](int64_t n) { return n >= 0; });
  }
  if (given.has("seed")) arguments.seed = seed_of(given);
  arguments.ema = given.flag("ema");
  arguments.plugin_paths = given.list("plugin-path");
  return arguments;
}

CommandArguments bench_arguments(Given& given) {
  BenchArguments arguments;
  fill_config(given, arguments, given.flag("data"));
  arguments.format = format_of(given, {"text", "json"});
  if (given.has("seconds")) {
    arguments.seconds = number_of<double>(given, "seconds", "a number above 0 and at most 3600",
                                          [](double s) { return s > 0 && s <= 3600; });
  }
  arguments.data = given.flag("data");
  for (const char* option : {"steps", "warmup", "repeats"}) {
    if (arguments.data && given.has(option)) {
      usage_error(given.spec, std::string("--") + option + ": is of whole steps, --data measures the loader alone");
    }
  }
  if (!arguments.data && given.has("seconds")) usage_error(given.spec, "--seconds: is of --data");
  read_count(given, "steps", 1, 1000000, arguments.steps);
  read_count(given, "warmup", 1, 1000000, arguments.warmup);
  read_count(given, "repeats", 1, 1000000, arguments.repeats);
  return arguments;
}

CommandArguments tune_arguments(Given& given) {
  TuneArguments arguments;
  fill_config(given, arguments);
  read_count(given, "steps", 2, 1000000, arguments.steps);
  read_count(given, "warmup", 1, 1000000, arguments.warmup);
  read_count(given, "pairs", 2, 1000, arguments.pairs);
  const auto above_zero = [&](const char* option) {
    return number_of<double>(given, option, "a number above 0 and at most 1e9",
                             [](double n) { return n > 0 && n <= 1e9; });
  };
  if (given.has("distance")) arguments.distance = above_zero("distance");
  if (given.has("time")) arguments.time = above_zero("time");
  if (given.has("memory")) arguments.memory = above_zero("memory");
  if (given.has("output")) {
    arguments.output = given.text("output");
    if (arguments.output.empty()) usage_error(given.spec, "--output: is empty");
  }
  return arguments;
}

CommandArguments verify_resume_arguments(Given& given) {
  VerifyResumeArguments arguments;
  fill_config(given, arguments);
  read_count(given, "steps", 2, 1000000, arguments.steps);
  read_count(given, "kills", 1, 1000000, arguments.kills);
  if (given.has("seed")) arguments.seed = seed_of(given);
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
    arguments.report_fd = number_of<int>(given, "report-fd", "a descriptor", [](int n) { return n >= 0; });
  }
  return arguments;
}

CommandArguments to_arguments(Given& given) {
  const std::string& name = given.spec.name;
  if (name == "run" || name == "train") {
    RunArguments arguments;
    arguments.profile = given.flag("profile");
    arguments.allow = given.list("allow");
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
    arguments.other = take_word(given, "other", "the other checkpoint", false);
    arguments.format = format_of(given, {"text", "json"});
    arguments.verify = !given.flag("no-verify");
    return arguments;
  }
  if (name == "generate") return generate_arguments(given);
  if (name == "replay") {
    ReplayArguments arguments;
    arguments.path = take_word(given, "path", "the run's folder", true);
    arguments.plugin_paths = given.list("plugin-path");
    return arguments;
  }
  if (name == "bench") return bench_arguments(given);
  if (name == "tune") return tune_arguments(given);
  if (name == "verify-resume") return verify_resume_arguments(given);
  if (name == "plugins describe") return describe_arguments(given);
  return check_arguments(given);
}

[[noreturn]] void unknown_command(const std::vector<CommandSpec>& specs, const std::string& group,
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
  throw UsageError(full + (option ? ": unknown option" : ": unknown command"),
                   (close ? "nearest command is " + (group.empty() ? "" : group + " ") + *close + "; " : "") +
                       "stc-host " + (group.empty() ? "" : group + " ") + "--help lists the commands");
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
  const std::vector<CommandSpec> specs = command_specs();
  if (words.empty()) throw UsageError("no command given", "stc-host --help lists the commands");
  Words rest = words;
  bool help = rest.front() == "help";
  if (help) rest.erase(rest.begin());
  if (rest.empty() || asks_for_help(rest.front())) return {"help", PrintText{help_of_all(specs, "")}};
  if (rest.front() == "--version") return {"version", PrintText{version_text()}};

  std::string name = rest.front();
  rest.erase(rest.begin());
  const std::string group = name == "plugins" ? name : "";
  if (!group.empty()) {
    if (rest.empty() && !help)
      throw UsageError("plugins: no command given", "stc-host plugins --help lists the commands");
    if (rest.empty() || asks_for_help(rest.front())) return {"help", PrintText{help_of_all(specs, group)}};
    name += " " + rest.front();
    rest.erase(rest.begin());
  }
  const auto spec = std::find_if(specs.begin(), specs.end(), [&](const CommandSpec& s) { return s.name == name; });
  if (spec == specs.end()) {
    unknown_command(specs, group, group.empty() ? name : name.substr(group.size() + 1));
  }
  help = help || std::any_of(rest.begin(), std::find(rest.begin(), rest.end(), "--"), asks_for_help);
  if (help) return {"help", PrintText{help_of(*spec)}};

  Given given = parse_options(*spec, rest);
  CommandArguments arguments = to_arguments(given);
  expect_no_more(given);
  return {name == "train" ? "run" : name, std::move(arguments)};
}

}  // namespace stc::host
