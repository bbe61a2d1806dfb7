// Rules between keys.

#include <cstdlib>
#include <thread>

#include "host/config/builder.hpp"
#include "host/config/check.hpp"

namespace stc::host {
namespace {

std::string text_of(const Value& value) { return value.dump(); }

}  // namespace

void ConfigBuilder::cross_check() {
  check_run();
  check_batches();
  check_model();
  check_sequence();
  check_optimizer();
  check_schedule();
  check_evaluation();
  check_distributed();
}

void ConfigBuilder::check_run() {
  if (value("run.output_dir") == Value("")) {
    throw ConfigError("run.output_dir: is empty, expected a folder", "write . for the working directory",
                      slot("run.output_dir").origin.at);
  }
  const Value& threads = value("run.threads");
  const auto cpus = static_cast<int64_t>(std::thread::hardware_concurrency());  // 0: not known
  if (!threads.is_number() || cpus == 0 || threads.get<int64_t>() <= cpus) return;
  warn("run.threads: got " + text_of(threads) + ", this machine has " + std::to_string(cpus) +
           (cpus == 1 ? " CPU" : " CPUs"),
       "more threads than CPUs wait for one another; lower it, or write auto", slot("run.threads").origin.at);
}

void ConfigBuilder::check_batches() const {
  int64_t micro = value("data.micro_batch_size").get<int64_t>();
  int64_t target = value("data.target_batch_size").get<int64_t>();
  if (target % micro == 0) return;
  bool at_micro = !is_given("data.target_batch_size");
  throw ConfigError("data.target_batch_size: got " + std::to_string(target) +
                        ", expected a multiple of data.micro_batch_size (" + std::to_string(micro) + ")",
                    "each optimizer step takes target_batch_size / micro_batch_size micro-batches",
                    slot(at_micro ? "data.micro_batch_size" : "data.target_batch_size").origin.at);
}

/// The shape rules of 2.0.0, for models that read those keys (or could not be asked).
void ConfigBuilder::check_model() const {
  const ChosenPlugin& model = chosen_.at("model").front();
  auto reads = [&](const char* key) {
    return model.declaration == nullptr || declared("model", key, nullptr) != nullptr;
  };
  auto divisible = [&](const char* whole, const char* part) {
    std::string whole_path = std::string("model.") + whole;
    std::string part_path = std::string("model.") + part;
    if (!reads(whole) || !reads(part)) return;
    const Value& a = value(whole_path);
    const Value& b = value(part_path);
    if (!a.is_number_integer() || !b.is_number_integer() || b.get<int64_t>() <= 0) return;
    if (a.get<int64_t>() % b.get<int64_t>() == 0) return;
    throw ConfigError(
        whole_path + ": got " + text_of(a) + ", expected a multiple of " + part_path + " (" + text_of(b) + ")", {},
        slot(is_given(whole_path) ? whole_path : part_path).origin.at);
  };
  divisible("n_head", "n_kv_head");
  divisible("d_model", "n_head");
  if (model.name != "reference_transformer") return;
  int64_t head_dim = value("model.d_model").get<int64_t>() / value("model.n_head").get<int64_t>();
  if (head_dim % 2 == 0) return;
  throw ConfigError("model.d_model: got " + text_of(value("model.d_model")) +
                        ", expected an even number of channels for each of model.n_head (" +
                        text_of(value("model.n_head")) + ")",
                    "rotary positions turn pairs of channels",
                    slot(is_given("model.d_model") ? "model.d_model" : "model.n_head").origin.at);
}

void ConfigBuilder::check_sequence() {
  if (value("data.vocab_size") != value("model.vocab_size")) {
    warn("data.vocab_size: got " + text_of(value("data.vocab_size")) + ", is ignored: model.vocab_size (" +
             text_of(value("model.vocab_size")) + ") rules",
         "remove data.vocab_size", slot("data.vocab_size").origin.at);
  }
  const Value& block = value("data.block_size");
  const Value& longest = value("model.max_seq_len");
  if (block.get<int64_t>() <= longest.get<int64_t>()) return;
  std::string message =
      "data.block_size: got " + text_of(block) + ", expected at most model.max_seq_len (" + text_of(longest) + ")";
  std::string hint = "raise model.max_seq_len or lower data.block_size";
  const Location& at = slot(is_given("data.block_size") ? "data.block_size" : "model.max_seq_len").origin.at;
  bool reference = chosen_.at("model").front().name == "reference_transformer";
  if (reference) throw ConfigError(message, hint, at);
  warn(message, hint, at);  // another model may take longer samples
}

void ConfigBuilder::check_optimizer() const {
  const Slot& betas = slot("optimizer.betas");
  if (betas.value.is_array() && betas.fallback.is_array() && betas.value.size() != betas.fallback.size()) {
    throw ConfigError("optimizer.betas: got " + text_of(betas.value) + ", expected a list of " +
                          std::to_string(betas.fallback.size()) + " numbers in [0, 1)",
                      {}, betas.origin.at);
  }
  if (value("optimizer.muon_plus") == Value(true) && value("optimizer.name") != Value("muon")) {
    throw ConfigError("optimizer.muon_plus: got true, expected false unless optimizer.name is muon (" +
                          value("optimizer.name").get<std::string>() + ")",
                      "set optimizer.name: muon, or remove muon_plus", slot("optimizer.muon_plus").origin.at);
  }
}

void ConfigBuilder::check_schedule() {
  const Value& data_target = value("data.max_steps");
  const std::string source = data_target.is_null() ? "run.max_steps" : "data.max_steps";
  int64_t target = value(source).get<int64_t>();
  const Slot& warmup = slot("scheduler.warmup_steps");
  if (warmup.value.get<int64_t>() < target) return;
  warn("scheduler.warmup_steps: got " + text_of(warmup.value) + ", so warm-up never ends: " + source + " is " +
           std::to_string(target),
       "lower scheduler.warmup_steps", warmup.given() ? warmup.origin.at : slot(source).origin.at);
}

void ConfigBuilder::check_evaluation() {
  const bool has_sets = !value("data.validation_path").is_null();
  const bool has_prompts = !value("logging.sample_prompts").empty();
  const Value& every = value("run.eval_every");
  if (!value("early_stop").is_null()) {
    for (const char* needed : {"data.validation_path", "run.eval_every"}) {
      if (!value(needed).is_null()) continue;
      throw ConfigError(std::string("early_stop: needs ") + needed + ", which is null",
                        "early stop watches evaluations: set data.validation_path and run.eval_every",
                        slot("early_stop").origin.at);
    }
  }
  if (!every.is_null() && !has_sets && !has_prompts) {
    warn("run.eval_every: has no effect, there is nothing to evaluate",
         "set data.validation_path or logging.sample_prompts", slot("run.eval_every").origin.at);
  }
}

void ConfigBuilder::check_distributed() const {
  const Value& first = value("distributed.retry_initial");
  const Value& longest = value("distributed.retry_max");
  if (longest.get<double>() < first.get<double>()) {
    bool at_max = is_given("distributed.retry_max");
    throw ConfigError("distributed.retry_max: got " + text_of(longest) + ", expected >= distributed.retry_initial (" +
                          text_of(first) + ")",
                      {}, slot(at_max ? "distributed.retry_max" : "distributed.retry_initial").origin.at);
  }
  if (value("distributed.enabled") != Value(true)) return;
  if (value("distributed.mode") == Value("single")) {
    throw ConfigError(
        "distributed.mode: got single, expected dumb_diloco or a coordinator plugin"
        " when distributed.enabled is true",
        "set distributed.enabled: false, or another mode", slot("distributed.mode").origin.at);
  }
  const Value& repo = value("distributed.repo_id");
  if (!repo.is_string() || repo.get_ref<const std::string&>().empty()) {
    throw ConfigError("distributed.repo_id: missing, expected a repository when distributed.enabled is true",
                      "set distributed.repo_id to owner/name, or to a folder such as ./meeting",
                      slot("distributed.enabled").origin.at);
  }
  check_node_id();
}

/// Without node_id the name comes from the environment, which is checked like a written one.
void ConfigBuilder::check_node_id() const {
  if (!value("distributed.node_id").is_null()) return;
  for (const char* variable : {"HF_USERNAME", "USER"}) {
    const char* name = std::getenv(variable);
    if (name == nullptr || *name == '\0') continue;
    if (is_path_safe(name)) return;
    throw ConfigError("distributed.node_id: got \"" + std::string(name) + "\" from " + variable +
                          ", expected a name that is not empty, not . or .., and has no / or \\",
                      "set distributed.node_id", slot("distributed.enabled").origin.at);
  }
}

}  // namespace stc::host
