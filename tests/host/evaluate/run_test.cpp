// Evaluation in whole runs: what it may not change, what it says, and how it goes on after a kill.

#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/support/process.hpp"

namespace stc::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, "cannot read " << path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string numbers(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += "line " + std::to_string(i * i) + "\n";
  return text;
}

/// A run in a folder of its own, beside t.txt and v.txt.
struct Run {
  explicit Run(const std::string& name) : folder(fs::current_path() / "evaluation_run" / name) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    write_file(folder / "t.txt", numbers(0, 60));
    write_file(folder / "v.txt", numbers(100, 130));
  }
  ProcessResult train(const std::vector<std::string>& sets = {}, const std::string& signal_when = "",
                      int signal = SIGKILL) const {
    ProcessRequest request;
    request.argv = {std::string(std::getenv("STC_TEST_BIN")) + "/stc-host", "run", "run.yaml"};
    for (const std::string& set : sets) request.argv.insert(request.argv.end(), {"--set", set});
    request.directory = folder.string();
    request.environment = {{"HOME", folder.string()}, {"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C.UTF-8"}};
    request.timeout_s = 120;
    request.signal_when = signal_when;
    request.signal = signal;
    return run_process(request);
  }
  std::vector<Json> events(const std::string& name) const {
    std::vector<Json> found;
    std::istringstream lines(read_file(folder / "log.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      Json event = Json::parse(line);
      if (event.at("event") == name) found.push_back(std::move(event));
    }
    return found;
  }
  std::string last_checkpoint(const std::string& file) const {
    return read_file(folder / "out/checkpoints/step_000000000012" / file);
  }
  fs::path folder;
};

/// What training itself did, of each step.
std::vector<std::string> training(const Run& run) {
  std::vector<std::string> lines;
  for (const Json& event : run.events("train_step")) {
    std::string line;
    for (const char* key : {"step", "loss", "lr", "grad_norm", "samples", "tokens"}) line += event.at(key).dump() + " ";
    lines.push_back(line);
  }
  return lines;
}

const char* const kConfig = R"(
run: {seed: 7, device: cpu, threads: 1, max_steps: 12, output_dir: out}
model: {vocab_size: 256, max_seq_len: 16, n_layer: 1, n_head: 2, d_model: 32, d_ff: 64, dropout: 0.1}
data: {text_path: t.txt, micro_batch_size: 2, target_batch_size: 4}
optimizer: {lr: 0.002, grad_clip: 0.5}
scheduler: {warmup_steps: 2}
checkpoint: {every_steps: 4}
logging: {json_file: log.jsonl}
)";

const std::vector<std::string> kEvaluation = {"run.eval_every=2", "data.validation_path={v: v.txt, t: t.txt}",
                                              "logging.sample_prompts=[line]"};

BOOST_AUTO_TEST_SUITE(evaluation_run)

BOOST_DATA_TEST_CASE(leaves_training_as_it_was,
                     boost::unit_test::data::make(std::vector<std::string>{
                         "optimizer.cautious=false", "optimizer.cautious=true", "data.num_workers=2",
                         "gradient_checkpointing=true"}),
                     variant) {
  const Run without("without");
  write_file(without.folder / "run.yaml", kConfig);
  BOOST_REQUIRE_EQUAL(without.train({variant}).exit, 0);
  const Run with("with");
  write_file(with.folder / "run.yaml", kConfig);
  std::vector<std::string> sets = kEvaluation;
  sets.insert(sets.end(), {variant, "ema={decay: 0.9}"});
  const ProcessResult result = with.train(sets);
  BOOST_REQUIRE_MESSAGE(result.exit == 0, result.err);

  BOOST_TEST(training(with) == training(without), boost::test_tools::per_element());
  BOOST_TEST(training(with).size() == 12u);
  BOOST_TEST(with.events("eval").size() == 6u * 2u * 2u);
  BOOST_TEST(with.events("sample").size() == 6u);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    BOOST_TEST((with.last_checkpoint(file) == without.last_checkpoint(file)), file);
  }
  Json left = Json::parse(with.last_checkpoint("state.json"));
  Json right = Json::parse(without.last_checkpoint("state.json"));
  for (const char* key : {"step", "samples", "tokens", "micro_batches", "rng", "data", "fingerprints"}) {
    BOOST_TEST(left.at(key).dump() == right.at(key).dump(), key);
  }
}

// With all of the text in one window, the loss that step n + 1 begins with is that of evaluation
// after step n.
BOOST_AUTO_TEST_CASE(the_loss_is_that_of_training_on_the_same_text) {
  const Run run("same_text");
  write_file(run.folder / "t.txt", numbers(0, 60).substr(0, 8 * 17));
  write_file(run.folder / "run.yaml", kConfig);
  const ProcessResult result =
      run.train({"model.dropout=0", "data.target_batch_size=8", "data.validation_path=t.txt", "run.eval_every=1"});
  BOOST_REQUIRE_MESSAGE(result.exit == 0, result.err);
  const std::vector<Json> steps = run.events("train_step");
  const std::vector<Json> evaluations = run.events("eval");
  BOOST_REQUIRE_EQUAL(evaluations.size(), 12u);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const double expected = steps[i + 1].at("loss").get<double>();
    const double found = evaluations[i].at("loss").get<double>();
    BOOST_TEST(std::abs(found - expected) < 1e-6 * expected, "step " << i + 1 << ": " << found << ", " << expected);
  }
  BOOST_TEST(evaluations[0].at("tokens") == 8 * 16);
  BOOST_TEST(evaluations[0].at("set") == "validation");
  const double loss = evaluations[0].at("loss").get<double>();
  BOOST_TEST(std::abs(evaluations[0].at("perplexity").get<double>() - std::exp(loss)) < 1e-9 * std::exp(loss));
  BOOST_TEST(std::abs(evaluations[0].at("bits_per_byte").get<double>() - loss / std::log(2.0)) < 1e-9);
}

// An average that hardly moves keeps its loss while the weights run away.
BOOST_AUTO_TEST_CASE(the_moving_average_is_evaluated_beside_the_weights) {
  const Run run("average");
  write_file(run.folder / "run.yaml", kConfig);
  std::vector<std::string> sets = kEvaluation;
  sets.insert(sets.end(), {"ema={decay: 0.999999}", "optimizer.lr=0.05"});
  const ProcessResult result = run.train(sets);
  BOOST_REQUIRE_MESSAGE(result.exit == 0, result.err);
  double first = 0, last = 0, moved = 0;
  for (const Json& event : run.events("eval")) {
    if (event.at("set") != "v") continue;
    const double loss = event.at("loss").get<double>();
    if (event.at("weights") == "model") {
      moved = std::max(moved, std::abs(loss - 5.545));
    } else {
      (event.at("step") == 2 ? first : last) = loss;
    }
  }
  BOOST_TEST(moved > 0.5);                    // the weights went far from a uniform guess, ln 256
  BOOST_TEST(std::abs(first - last) < 1e-3);  // a millionth of it a step: the average stayed
}

BOOST_AUTO_TEST_CASE(a_killed_run_goes_on_to_the_same_bits) {
  const std::vector<std::string> more = {"ema={decay: 0.8, every: 2}", "early_stop={patience: 4, min_delta: 0.01}",
                                         "checkpoint.resume=auto", "checkpoint.keep_last=2"};
  std::vector<std::string> sets = kEvaluation;
  sets.insert(sets.end(), more.begin(), more.end());
  const Run whole("whole");
  write_file(whole.folder / "run.yaml", kConfig);
  BOOST_REQUIRE_EQUAL(whole.train(sets).exit, 0);
  const Run broken("broken");
  write_file(broken.folder / "run.yaml", kConfig);
  int kills = 0;
  for (const char* when : {"eval step=2 set=v weights=model", "sample step=4 ", "eval step=6 set=t weights=ema",
                           "train_step step=9 ", "eval step=10 set=v weights=ema"}) {
    kills += broken.train(sets, when).exit == 128 + SIGKILL ? 1 : 0;
  }
  BOOST_TEST(kills >= 3);
  const ProcessResult end = broken.train(sets);
  BOOST_REQUIRE_MESSAGE(end.exit == 0, end.err);

  const auto said = [](const Run& run) {
    std::map<std::string, std::string> lines;
    for (const char* name : {"eval", "sample"}) {
      for (Json event : run.events(name)) {
        const std::string key =
            event.at("event").dump() + event.at("step").dump() + event.value("set", "") + event.value("weights", "");
        event.erase("elapsed_s");
        event.erase("eval_s");
        const auto [found, fresh] = lines.emplace(key, event.dump());
        if (!fresh) BOOST_TEST(found->second == event.dump());  // made again: the same
      }
    }
    return lines;
  };
  BOOST_TEST((said(whole) == said(broken)));
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}) {
    BOOST_TEST((whole.last_checkpoint(file) == broken.last_checkpoint(file)), file);
  }
  BOOST_TEST(Json::parse(whole.last_checkpoint("state.json")).at("evaluation").dump() ==
             Json::parse(broken.last_checkpoint("state.json")).at("evaluation").dump());
  BOOST_TEST(read_file(whole.folder / "out/checkpoints/best.json") ==
             read_file(broken.folder / "out/checkpoints/best.json"));
}

BOOST_AUTO_TEST_CASE(a_signal_ends_an_evaluation_and_the_next_process_makes_it) {
  const Run run("signal");
  write_file(run.folder / "run.yaml", kConfig);
  std::string long_text;
  while (long_text.size() < 8u << 20) long_text += numbers(0, 10000);
  write_file(run.folder / "v.txt", long_text);
  const std::vector<std::string> sets = {"data.validation_path=v.txt", "run.eval_every=2", "checkpoint.resume=auto"};
  const ProcessResult stopped = run.train(sets, "train_step step=2 ", SIGTERM);
  BOOST_TEST(stopped.exit == 128 + SIGTERM);
  BOOST_TEST(run.events("eval").empty());
  const Json step = run.events("train_step").back();
  const Json end = run.events("train_end").back();
  BOOST_TEST(step.at("step") == 2);
  BOOST_TEST(end.at("reason") == "signal");
  BOOST_TEST(end.at("elapsed_s").get<double>() - step.at("elapsed_s").get<double>() < 3.0);

  write_file(run.folder / "v.txt", numbers(100, 130));
  BOOST_TEST(run.train(sets).exit == 0);
  std::vector<int> evaluated;
  for (const Json& event : run.events("eval")) evaluated.push_back(event.at("step").get<int>());
  BOOST_TEST(evaluated == (std::vector<int>{2, 4, 6, 8, 10, 12}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(best_json_names_the_lowest_loss_and_its_checkpoint_stays) {
  const Run run("best");
  write_file(run.folder / "run.yaml", kConfig);
  // A rate that first helps and then destroys.
  const ProcessResult result =
      run.train({"data.validation_path=v.txt", "run.eval_every=1", "optimizer.lr=0.3", "checkpoint.every_steps=100",
                 "checkpoint.keep_last=1", "optimizer.grad_clip=null"});
  BOOST_REQUIRE_MESSAGE(result.exit == 0, result.err);
  double lowest = 1e9;
  uint64_t step = 0;
  for (const Json& event : run.events("eval")) {
    if (event.at("loss").get<double>() >= lowest) continue;
    lowest = event.at("loss").get<double>();
    step = event.at("step").get<uint64_t>();
  }
  BOOST_REQUIRE_LT(step, 12u);
  const Json best = Json::parse(read_file(run.folder / "out/checkpoints/best.json"));
  BOOST_TEST(best.at("step") == step);
  const fs::path folder = run.folder / "out/checkpoints" / best.at("file").get<std::string>();
  const Json state = Json::parse(read_file(folder / "state.json"));
  BOOST_TEST(state.at("evaluation").at("progress").at("best_loss") == lowest);
  BOOST_TEST(fs::exists(run.folder / "out/checkpoints/step_000000000012"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::test
