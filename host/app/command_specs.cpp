#include "host/app/command_specs.hpp"

#include <algorithm>
#include <sstream>

#include "stc/abi/core.h"
#include "stc/version.hpp"

namespace stc::host {
namespace {

po::typed_value<std::string>* word(const char* shown) { return po::value<std::string>()->value_name(shown); }
po::typed_value<Words>* words_of(const char* shown) { return po::value<Words>()->value_name(shown); }

void add_help(po::options_description& options) { options.add_options()("help,h", "print this and exit"); }

void add_plugin_path(po::options_description& options) {
  options.add_options()("plugin-path", words_of("PATH"),
                        "folder of plugins or one .so file, searched first; may be repeated");
}

void add_config_source(po::options_description& options) {
  options.add_options()("config", word("FILE"), "the run file, instead of the FILE argument")(
      "set", words_of("KEY=VALUE"), "override one key, e.g. optimizer.lr=0.01; may be repeated")(
      "device", word("DEVICE"), "override run.device: auto, cpu, cuda, cuda:N, mps");
  add_plugin_path(options);
}

void add_config_options(po::options_description& options) {
  add_config_source(options);
  options.add_options()("resume", po::bool_switch(), "continue from the newest valid checkpoint")(
      "max-steps", word("N"), "override the target of optimizer steps")("output-dir", word("DIR"),
                                                                        "override run.output_dir");
}

void add_format(po::options_description& options, const char* shown) {
  options.add_options()("format", word(shown), "form of the output");
}

CommandSpec run_spec(const std::string& name) {
  CommandSpec spec{name, name == "train" ? "--config FILE [options]" : "FILE [options]",
                   name == "train" ? "the same as run, in the spelling of 2.0.0" : "train what a run file describes"};
  spec.takes_file = true;
  add_config_options(spec.options);
  spec.options.add_options()("profile", po::bool_switch(),
                             "record the phases of each step in <run.output_dir>/trace.json")(
      "allow", words_of("KEY"), "resume although this setting differs from the checkpoint's; may be repeated");
  return spec;
}

CommandSpec validate_spec() {
  CommandSpec spec{"validate", "FILE [options]", "check a run file and print it completed, secrets redacted"};
  spec.takes_file = true;
  add_format(spec.options, "yaml|json");
  spec.options.add_options()("deep", po::bool_switch(), "also build everything that a run would use, without training");
  add_config_options(spec.options);
  return spec;
}

CommandSpec explain_spec() {
  CommandSpec spec{"explain", "FILE [KEY] [options]", "tell value, default, range, meaning and origin of each key"};
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
  CommandSpec spec{"plugins describe", "[[KIND/]NAME | FILE.so] [options]",
                   "describe a plugin and its parameters; all plugins without a name"};
  spec.options.add_options()("name", word("NAME"), "the plugin, instead of the NAME argument");
  add_format(spec.options, "text|json|markdown");
  add_plugin_path(spec.options);
  return spec;
}

CommandSpec plugins_check_spec() {
  CommandSpec spec{"plugins check", "FILE.so [options]", "load a library in a process of its own and try its plugins"};
  spec.options.add_options()("file", word("FILE"), "the library, instead of the FILE argument");
  add_plugin_path(spec.options);
  spec.options.add_options()("report-fd", word("N"), "")("scratch", word("DIR"), "");
  spec.hidden = {"report-fd", "scratch"};
  return spec;
}

CommandSpec inspect_spec() {
  CommandSpec spec{"inspect", "PATH [OTHER] [options]",
                   "list and verify a checkpoint, or tell what differs between two"};
  spec.options.add_options()("path", word("PATH"), "the checkpoint, instead of the PATH argument")(
      "other", word("PATH"), "the checkpoint to compare it with, instead of the OTHER argument")(
      "no-verify", po::bool_switch(), "do not read the tensors to compare their hashes");
  add_format(spec.options, "text|json");
  return spec;
}

CommandSpec generate_spec() {
  CommandSpec spec{"generate", "CHECKPOINT --prompt TEXT [options]", "continue a text with a trained model"};
  spec.options.add_options()("checkpoint", word("PATH"), "the checkpoint, instead of the CHECKPOINT argument")(
      "prompt", word("TEXT"), "text to continue")("max-tokens", word("N"), "most tokens to add, >= 1 (default 100)")(
      "temperature", word("T"), "softness of the choice, >= 0; 0 takes the likeliest (default 1)")(
      "top-k", word("K"), "choose among the K likeliest; 0: all (default 0)")(
      "seed", word("N"), "seed of the choice (default 0)")("ema", po::bool_switch(),
                                                           "use the moving average of the weights");
  add_plugin_path(spec.options);
  return spec;
}

CommandSpec replay_spec() {
  CommandSpec spec{"replay", "PATH [options]", "run again the batch whose loss or gradient was not finite"};
  spec.options.add_options()("path", word("PATH"), "the run's folder or one record, instead of the PATH argument");
  add_plugin_path(spec.options);
  return spec;
}

CommandSpec bench_spec() {
  CommandSpec spec{"bench", "[FILE] [options]",
                   "measure how fast a run file (without one, a small built-in model) trains, or its data are made"};
  spec.takes_file = true;
  spec.options.add_options()("data", po::bool_switch(), "the loader alone, by workers and prefetch")(
      "seconds", word("S"), "length of each measurement of the loader, > 0 (default 2)")(
      "steps", word("N"), "measured steps of each run, >= 1 (default 20)")(
      "warmup", word("N"), "steps before them, >= 1 (default 5)")("repeats", word("N"),
                                                                  "runs to take medians of, >= 1 (default 3)");
  add_format(spec.options, "text|json");
  add_config_source(spec.options);
  return spec;
}

CommandSpec tune_spec() {
  CommandSpec spec{"tune", "FILE [options]", "try what makes a run file train faster here, and write it down"};
  spec.takes_file = true;
  spec.options.add_options()("steps", word("N"),
                             "most measured steps of a trial, which lasts about 5 s, >= 2 (default 1000)")(
      "warmup", word("N"), "steps before them, >= 1 (default 3)")("pairs", word("N"),
                                                                  "pairs of trials for each change, >= 2 (default 3)")(
      "distance", word("D"), "largest relative difference of a loss to the fp32 baseline's, > 0 (default 0.01)")(
      "time", word("S"), "most seconds in all, > 0 and <= 1e9 (default 900)")(
      "memory", word("GIB"), "most peak memory in GiB, > 0 (default: no limit)")(
      "output", word("PATH"), "the file to write (default: FILE with .tuned.yaml for its ending)");
  add_config_source(spec.options);
  return spec;
}

CommandSpec verify_resume_spec() {
  CommandSpec spec{"verify-resume", "FILE [options]",
                   "prove that a killed and resumed run gives the bits of an unbroken one"};
  spec.takes_file = true;
  spec.options.add_options()("steps", word("N"), "optimizer steps of each run, >= 2 (default 12)")(
      "kills", word("N"), "how often the run is killed, >= 1 (default 3)")("seed", word("N"), "seed of the moments");
  add_config_source(spec.options);
  return spec;
}

}  // namespace

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
  specs.push_back(replay_spec());
  specs.push_back(bench_spec());
  specs.push_back(tune_spec());
  specs.push_back(verify_resume_spec());
  for (CommandSpec& spec : specs) add_help(spec.options);
  return specs;
}

std::string help_of(const CommandSpec& spec) {
  po::options_description shown("options", kHelpWidth);
  for (const auto& option : spec.options.options()) {
    if (std::find(spec.hidden.begin(), spec.hidden.end(), option->long_name()) == spec.hidden.end()) shown.add(option);
  }
  std::ostringstream text;
  text << "usage: stc-host " << spec.name << " " << spec.usage << "\n\n" << spec.summary << "\n\n" << shown;
  return text.str();
}

std::string help_of_all(const std::vector<CommandSpec>& specs, const std::string& filter) {
  std::ostringstream text;
  text << "usage: stc-host " << (filter.empty() ? "" : filter + " ") << "COMMAND [options]\n\ncommands:\n";
  for (const CommandSpec& spec : specs) {
    if (!filter.empty() && !spec.name.starts_with(filter + " ")) continue;
    text << "  " << spec.name << std::string(19 - std::min<size_t>(18, spec.name.size()), ' ') << spec.summary << "\n";
  }
  if (filter.empty()) text << "\n  --version          print the version and exit\n";
  text
      << "\nstc-host COMMAND --help explains one. Exit codes: 0 done, 1 a difference was found, 2 handled error, 4 the last "
         "checkpoint could\n"
         "not be written, 129, 130, 138 and 143 stopped by SIGHUP, SIGINT, SIGUSR1 and SIGTERM after saving.\n";
  return text.str();
}

std::string version_text() {
  return std::string("stc-host ") + STC_VERSION + ", plugin ABI " + std::to_string(STC_ABI_MAJOR) + "." +
         std::to_string(STC_ABI_MINOR) + "\n";
}

}  // namespace stc::host
