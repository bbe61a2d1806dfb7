// A run that is killed and resumed gives the same bits as one left alone: weights, optimizer state,
// counters, data position, and every loss.

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

constexpr int kSteps = 24;
constexpr int kKill = 9;

struct Scenario {
  const char* name;
  const char* config;
};
std::ostream& operator<<(std::ostream& out, const Scenario& scenario) { return out << scenario.name; }

const Scenario kScenarios[] = {
    {"text with dropout and accumulation", R"(
run: {seed: 7, device: cpu, max_steps: 24, output_dir: out}
model: {vocab_size: 256, max_seq_len: 16, n_layer: 2, n_head: 4, n_kv_head: 2, d_model: 32, d_ff: 64, dropout: 0.1}
data: {text_path: text.txt, micro_batch_size: 2, target_batch_size: 4, num_workers: 2, prefetch_factor: 3}
optimizer: {lr: 0.001, cautious: true, grad_clip: 0.5}
scheduler: {warmup_steps: 4}
checkpoint: {every_steps: 3, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl}
)"},
    {"shuffled samples over several passes", R"(
run: {seed: 11, device: cpu, max_steps: 24, output_dir: out}
model: {vocab_size: 64, max_seq_len: 8, n_layer: 1, n_head: 2, d_model: 16, d_ff: 32, tie_weights: false, gradient_checkpointing: true, dropout: 0.2}
data: {num_tokens: 10, shuffle: true, micro_batch_size: 2, target_batch_size: 6, num_workers: 3}
optimizer: {lr: 0.001}
scheduler: {warmup_steps: 1}
checkpoint: {every_steps: 1, keep_last: 3, resume: auto}
logging: {json_file: log.jsonl}
)"},
    {"products in bf16 with a warm-up", R"(
run: {seed: 3, device: cpu, max_steps: 24, output_dir: out}
model: {vocab_size: 64, max_seq_len: 16, n_layer: 2, n_head: 4, n_kv_head: 2, d_model: 32, d_ff: 64, dropout: 0.1}
data: {num_tokens: 50, micro_batch_size: 2, target_batch_size: 4}
optimizer: {lr: 0.0001}
scheduler: {warmup_steps: 20}
precision: bf16
checkpoint: {every_steps: 3, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl}
)"},
};

/// Optimizers with a state of their own.
const Scenario kOptimizers[] = {
    {"muon with caution", R"(
run: {seed: 5, device: cpu, max_steps: 24, output_dir: out}
model: {vocab_size: 64, max_seq_len: 8, n_layer: 2, n_head: 2, d_model: 16, d_ff: 32}
data: {num_tokens: 10, micro_batch_size: 2, target_batch_size: 4}
optimizer: {name: muon, lr: 0.001, muon_plus: true, cautious: true}
scheduler: {warmup_steps: 4}
checkpoint: {every_steps: 2, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl}
)"},
    // The weights of its checkpoints are not those that it trains.
    {"averages without a schedule", R"(
run: {seed: 5, device: cpu, max_steps: 24, output_dir: out}
model: {vocab_size: 64, max_seq_len: 8, n_layer: 2, n_head: 2, d_model: 16, d_ff: 32}
data: {num_tokens: 10, micro_batch_size: 2, target_batch_size: 4}
optimizer: {name: schedule_free_adamw, lr: 0.005}
scheduler: {warmup_steps: 4}
checkpoint: {every_steps: 2, keep_last: 2, resume: auto}
logging: {json_file: log.jsonl}
)"},
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, "cannot read " << path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A folder with the run file and a text of 700 bytes: several passes in 24 steps.
fs::path make_folder(const std::string& name, const Scenario& scenario) {
  const fs::path folder = fs::current_path() / "fault_resume" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "run.yaml") << scenario.config;
  std::ofstream text(folder / "text.txt");
  for (int i = 0; i < 50; ++i) text << "line " << i * i << "\xc3\xa9\r\n";
  return folder;
}

ProcessResult train(const fs::path& folder, const std::string& kill_when) {
  ProcessRequest request;
  request.argv = {std::string(std::getenv("STC_TEST_BIN")) + "/stc-host", "run", "run.yaml"};
  request.directory = folder.string();
  request.environment = {{"HOME", folder.string()}, {"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C.UTF-8"}};
  request.timeout_s = 120;
  request.signal_when = kill_when;
  request.signal = kKill;
  return run_process(request);
}

/// Loss of each step; a step that was made again after a kill must have given the same loss.
std::map<int64_t, std::string> losses(const fs::path& folder) {
  std::map<int64_t, std::string> result;
  std::istringstream lines(read_file(folder / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event.at("event") != "train_step") continue;
    const int64_t step = event.at("step").get<int64_t>();
    const std::string loss = event.at("loss").dump() + " " + event.at("grad_norm").dump() + " " +
                             event.at("samples").dump() + " " + event.at("tokens").dump();
    const auto [found, fresh] = result.emplace(step, loss);
    if (!fresh) BOOST_CHECK_EQUAL(found->second, loss);
  }
  return result;
}

void check_equal_checkpoints(const fs::path& a, const fs::path& b) {
  const std::string last = "out/checkpoints/step_000000000024/";
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    BOOST_CHECK_MESSAGE(read_file(a / (last + file)) == read_file(b / (last + file)), file << " differs");
  }
  nlohmann::json left = nlohmann::json::parse(read_file(a / (last + "state.json")));
  nlohmann::json right = nlohmann::json::parse(read_file(b / (last + "state.json")));
  left.erase("run_id");
  right.erase("run_id");
  BOOST_CHECK_EQUAL(left.dump(), right.dump());
}

BOOST_AUTO_TEST_SUITE(resume)

BOOST_DATA_TEST_CASE(gives_the_same_bits_after_a_chain_of_kills,
                     boost::unit_test::data::make(kScenarios) + boost::unit_test::data::make(kOptimizers)) {
  const fs::path unbroken = make_folder("unbroken", sample);
  const ProcessResult whole = train(unbroken, "");
  BOOST_REQUIRE_MESSAGE(whole.exit == 0, whole.err);

  const fs::path broken = make_folder("broken", sample);
  int kills = 0;
  for (const int step : {1, 5, 6, 11, 17, 23}) {
    const ProcessResult part = train(broken, "train_step step=" + std::to_string(step) + " ");
    BOOST_REQUIRE_MESSAGE(part.exit == 128 + kKill || part.exit == 0, part.err);
    kills += part.exit == 0 ? 0 : 1;
  }
  BOOST_REQUIRE_GE(kills, 3);
  const ProcessResult end = train(broken, "");
  BOOST_REQUIRE_MESSAGE(end.exit == 0, end.err);

  BOOST_CHECK_EQUAL(losses(unbroken).size(), static_cast<size_t>(kSteps));
  BOOST_CHECK(losses(unbroken) == losses(broken));
  check_equal_checkpoints(unbroken, broken);
}

BOOST_DATA_TEST_CASE(gives_the_same_bits_after_kills_at_any_moment, boost::unit_test::data::make(kScenarios)) {
  const fs::path unbroken = make_folder("unbroken", sample);
  BOOST_REQUIRE_EQUAL(train(unbroken, "").exit, 0);
  const fs::path broken = make_folder("broken", sample);
  // Killed as soon as a checkpoint event of the process appears: while the next one is being written.
  for (int attempt = 0; attempt < 30; ++attempt) {
    const ProcessResult part = train(broken, "checkpoint step=");
    BOOST_REQUIRE_MESSAGE(part.exit == 128 + kKill || part.exit == 0, part.err);
    if (part.exit == 0) break;
  }
  const ProcessResult end = train(broken, "");
  BOOST_REQUIRE_MESSAGE(end.exit == 0, end.err);
  check_equal_checkpoints(unbroken, broken);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::test
