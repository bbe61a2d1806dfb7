// The command line: what each word becomes, and what is said about words that mean nothing.

#include "host/app/options.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace stc::host;

namespace {

using Words = std::vector<std::string>;

std::string error_of(const Words& words) {
  try {
    parse_command_line(words);
  } catch (const UsageError& error) {
    return error.render();
  }
  return {};
}

template <class Arguments>
Arguments parsed(const Words& words) {
  return std::get<Arguments>(parse_command_line(words).arguments);
}

std::string text_of(const Words& words) { return parsed<PrintText>(words).text; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(run_takes_the_four_flags_of_2_0_0) {
  const auto run = parsed<RunArguments>({"run", "a.yaml", "--resume", "--device", "cuda:1", "--max-steps", "20",
                                         "--output-dir", "out", "--set", "optimizer.lr=0.1", "--set", "run.seed=-3",
                                         "--plugin-path", "p", "--plugin-path=q"});
  BOOST_TEST(run.file == "a.yaml");
  BOOST_TEST((run.resume == std::optional<bool>(true)));
  BOOST_TEST((run.device == std::optional<std::string>("cuda:1")));
  BOOST_TEST((run.max_steps == std::optional<int64_t>(20)));
  BOOST_TEST((run.output_dir == std::optional<std::string>("out")));
  BOOST_TEST((run.sets == Words{"optimizer.lr=0.1", "run.seed=-3"}));
  BOOST_TEST((run.plugin_paths == Words{"p", "q"}));
}

BOOST_AUTO_TEST_CASE(what_is_not_given_stays_open) {
  const auto run = parsed<RunArguments>({"run", "a.yaml"});
  BOOST_TEST((!run.resume && !run.device && !run.max_steps && !run.output_dir));
  BOOST_TEST((run.sets.empty() && run.plugin_paths.empty()));
}

BOOST_AUTO_TEST_CASE(train_is_run_in_another_spelling) {
  const CommandLine line = parse_command_line({"train", "--config", "a.yaml", "--max-steps=5"});
  BOOST_TEST(line.command == "run");
  BOOST_TEST(std::get<RunArguments>(line.arguments).file == "a.yaml");
  BOOST_TEST(parsed<ValidateArguments>({"validate", "--config", "a.yaml", "--format", "json"}).format == "json");
}

BOOST_AUTO_TEST_CASE(each_command_reads_its_own_words) {
  const auto validate = parsed<ValidateArguments>({"validate", "a.yaml", "--deep"});
  BOOST_TEST(validate.deep);
  BOOST_TEST(validate.format == "yaml");
  const auto explain = parsed<ExplainArguments>({"explain", "a.yaml", "optimizer.lr", "--format=markdown"});
  BOOST_TEST(explain.key == "optimizer.lr");
  BOOST_TEST(explain.format == "markdown");
  BOOST_TEST(parsed<ExplainArguments>({"explain", "a.yaml"}).key == "");
  BOOST_TEST(parsed<PluginsListArguments>({"plugins", "list", "--format", "json"}).format == "json");
  BOOST_TEST(parsed<PluginsArguments>({"plugins", "describe", "sink/csv"}).target == "sink/csv");
  BOOST_TEST(parsed<PluginsArguments>({"plugins", "describe"}).target == "");
  const auto check = parsed<PluginsCheckArguments>({"plugins", "check", "x.so"});
  BOOST_TEST(check.target == "x.so");
  BOOST_TEST(check.report_fd == -1);
  const auto inspect = parsed<InspectArguments>({"inspect", "dir", "--no-verify"});
  BOOST_TEST(!inspect.verify);
  const auto generate =
      parsed<GenerateArguments>({"generate", "dir", "--prompt", "Once upon", "--max-tokens", "7", "--temperature", "0",
                                 "--top-k=4", "--seed", "18446744073709551615"});
  BOOST_TEST(generate.prompt == "Once upon");
  BOOST_TEST(generate.max_tokens == 7);
  BOOST_TEST(generate.temperature == 0.0);
  BOOST_TEST(generate.top_k == 4);
  BOOST_TEST(generate.seed == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(help_and_version_at_each_level) {
  BOOST_TEST(has(text_of({"--version"}), "stc-host 0."));
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    for (const char* command : {"run ", "train ", "validate ", "explain ", "plugins list ", "plugins describe ",
                                "plugins check ", "inspect ", "generate "}) {
      BOOST_TEST(has(text_of(words), std::string("\n  ") + command), command);
    }
  }
  BOOST_TEST(!has(text_of({"plugins", "--help"}), "generate"));
  BOOST_TEST(has(text_of({"plugins", "--help"}), "plugins check"));
  for (const Words& words : {Words{"run", "--help"}, Words{"run", "a.yaml", "-h"}, Words{"help", "run"}}) {
    BOOST_TEST(text_of(words).starts_with("usage: stc-host run FILE [options]"));
    BOOST_TEST(has(text_of(words), "--max-steps N"));
  }
  BOOST_TEST(!has(text_of({"plugins", "check", "--help"}), "report-fd"));
}

struct Refusal {
  Words words;
  std::string error;
};

BOOST_AUTO_TEST_CASE(words_that_mean_nothing_are_named_with_the_nearest_that_do) {
  const std::vector<Refusal> refusals = {
      {{}, "error: no command given\n  hint: stc-host --help lists the commands\n"},
      {{"rum"},
       "error: rum: unknown command\n  hint: nearest command is run; stc-host --help lists the "
       "commands\n"},
      {{"plugins", "lits"},
       "error: plugins lits: unknown command\n  hint: nearest command is plugins list; stc-host "
       "plugins --help lists the commands\n"},
      {{"plugins"}, "error: plugins: no command given\n  hint: stc-host plugins --help lists the commands\n"},
      {{"--verson"}, "error: --verson: unknown option\n  hint: stc-host --help lists the commands\n"},
      {{"run", "a.yaml", "--max-step", "5"},
       "error: run: --max-step: unknown option\n  hint: nearest option is --max-steps; stc-host "
       "run --help lists the options\n"},
      {{"run", "a.yaml", "--outptu-dir=x"},
       "error: run: --outptu-dir: unknown option\n  hint: nearest option is --output-dir; stc-host "
       "run --help lists the options\n"},
      {{"run"}, "error: run: the run file is missing\n  hint: stc-host run --help lists the options\n"},
      {{"run", "a.yaml", "b.yaml"},
       "error: run: \"b.yaml\": unexpected argument\n  hint: stc-host run --help lists the "
       "options\n"},
      {{"run", "a.yaml", "--device"},
       "error: run: --device: a value is missing\n  hint: stc-host run --help lists the options\n"},
      {{"run", "a.yaml", "--device="},
       "error: run: --device: a value is missing\n  hint: stc-host run --help lists the options\n"},
      {{"run", "a.yaml", "--device", "cpu", "--device", "cuda"},
       "error: run: --device: given twice\n  hint: stc-host run --help lists the options\n"},
      {{"run", "a.yaml", "--resume=yes"},
       "error: run: --resume: takes no value\n  hint: stc-host run --help lists the options\n"},
      {{"run", "a.yaml", "--set", "optimizer.lr"},
       "error: run: --set: got \"optimizer.lr\", expected key=value\n  hint: for example --set "
       "optimizer.lr=0.01\n"},
      {{"run", "a.yaml", "--set", "distributed.token:hf_geheim"},
       "error: run: --set: got \"distributed.token...\", expected key=value\n  hint: for example --set "
       "optimizer.lr=0.01\n"},
      {{"run", "a.yaml", "--set", "=5"},
       "error: run: --set: got \"=5\", expected key=value\n  hint: for example --set "
       "optimizer.lr=0.01\n"},
      {{"validate", "a.yaml", "--format", "xml"},
       "error: validate: --format: got \"xml\", expected one of yaml, json\n  hint: stc-host "
       "validate --help lists the options\n"},
      {{"generate", "dir"},
       "error: generate: --prompt is missing\n  hint: for example --prompt \"Once upon a time\"\n"},
      {{"generate", "dir", "--prompt", "x", "--temperature", "nan"},
       "error: generate: --temperature: got \"nan\", expected a number >= 0\n  hint: stc-host "
       "generate --help lists the options\n"},
  };
  for (const Refusal& refusal : refusals) BOOST_TEST(error_of(refusal.words) == refusal.error);
}

BOOST_AUTO_TEST_CASE(numbers_are_whole_and_in_range) {
  for (const char* number : {"0", "-1", "1.5", "1e3", "abc", "5 ", "-99999999999999999999"}) {
    BOOST_TEST(error_of({"run", "a.yaml", std::string("--max-steps=") + number}) ==
               std::string("error: run: --max-steps: got \"") + number +
                   "\", expected an integer >= 1\n  hint: stc-host run --help lists the options\n");
  }
  BOOST_TEST(error_of({"run", "a.yaml", "--max-steps=99999999999999999999"}) ==
             "error: run: --max-steps: got \"99999999999999999999\", expected an integer of 64 bits\n"
             "  hint: stc-host run --help lists the options\n");
  BOOST_TEST(error_of({"generate", "x", "--prompt=x", "--max-tokens=99999999999999999999"}) ==
             "error: generate: --max-tokens: got \"99999999999999999999\", expected an integer of 64 "
             "bits\n  hint: stc-host generate --help lists the options\n");
  BOOST_TEST(error_of({"generate", "x", "--prompt=x", "--temperature=1e999"}) ==
             "error: generate: --temperature: got \"1e999\", expected a number in the range of a "
             "double\n  hint: stc-host generate --help lists the options\n");
  BOOST_TEST((parsed<RunArguments>({"run", "a.yaml", "--max-steps", "+5"}).max_steps == std::optional<int64_t>(5)));
}

BOOST_AUTO_TEST_CASE(a_double_dash_ends_the_options) {
  BOOST_TEST(parsed<RunArguments>({"run", "--", "--odd-name.yaml"}).file == "--odd-name.yaml");
}

BOOST_AUTO_TEST_SUITE_END()
