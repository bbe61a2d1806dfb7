// Values that follow from other keys, in the order of Speedtronic 2.0.0.

#include "host/config/builder.hpp"

namespace stc::host {
namespace {

constexpr int64_t kDefaultScheduleSteps = 1000;

bool starts_like_a_path(const std::string& repo) {
  return repo.starts_with("/") || repo.starts_with("./") || repo.starts_with("../") || repo.starts_with("~");
}

}  // namespace

void ConfigBuilder::derive() {
  derive_model();
  derive_data();
  derive_run();
  derive_distributed();
}

void ConfigBuilder::derive_run() {
  if (!value("run.log_every").is_null() && value("logging.every_steps") == Value(1)) {
    set_derived("logging.every_steps", value("run.log_every"), "run.log_every");
  }
  if (value("scheduler.max_steps") != Value(kDefaultScheduleSteps)) return;
  // 1000 is the default, written or not, and follows the target of the run.
  std::string source;
  if (value("run.max_steps") != Value(kDefaultScheduleSteps)) {
    source = "run.max_steps";
  } else if (!value("data.max_steps").is_null()) {
    source = "data.max_steps";
  }
  if (source.empty() || value(source) == value("scheduler.max_steps")) return;
  const Slot& written = slot("scheduler.max_steps");
  if (written.given()) {
    warn("scheduler.max_steps: the written 1000 is the default, and is replaced by " + source + " (" +
             value(source).dump() + ")",
         "write 999 or 1001 for a schedule of about that length", written.origin.at);
  }
  set_derived("scheduler.max_steps", value(source), source);
}

void ConfigBuilder::derive_model() {
  if (value("model.n_kv_head").is_null() && value("model.n_head").is_number_integer()) {
    set_derived("model.n_kv_head", value("model.n_head"), "model.n_head");
  }
  if (value("model.d_ff").is_null() && value("model.d_model").is_number_integer()) {
    set_derived("model.d_ff", 4 * value("model.d_model").get<int64_t>(), "4 * model.d_model");
  }
  bool root = value("gradient_checkpointing") == Value(true);
  bool model = value("model.gradient_checkpointing") == Value(true);
  if (root && !model) set_derived("model.gradient_checkpointing", true, "gradient_checkpointing");
  if (model && !root) set_derived("gradient_checkpointing", true, "model.gradient_checkpointing");
}

void ConfigBuilder::derive_data() {
  if (value("data.vocab_size").is_null()) {
    set_derived("data.vocab_size", value("model.vocab_size"), "model.vocab_size");
  }
  if (value("data.block_size").is_null()) {
    set_derived("data.block_size", value("model.max_seq_len"), "model.max_seq_len");
  }
  if (value("data.seed").is_null()) set_derived("data.seed", value("run.seed"), "run.seed");
  if (value("data.name").is_null()) {
    const std::string& name = chosen_.at("data").front().name;
    std::string rule = name == "text" ? "data.text_path" : name == "tokens" ? "data.dataset" : "data.synthetic";
    set_derived("data.name", name, rule);
  }
}

void ConfigBuilder::derive_distributed() {
  bool enabled = value("distributed.enabled") == Value(true);
  if (enabled && value("distributed.role") == Value("single")) {
    set_derived("distributed.role", "master", "distributed.enabled");
  }
  if (!value("distributed.backend").is_null()) return;
  const Value& repo = value("distributed.repo_id");
  bool is_path = repo.is_string() && starts_like_a_path(repo.get_ref<const std::string&>());
  set_derived("distributed.backend", is_path ? "filesystem" : "hub", "distributed.repo_id");
}

}  // namespace stc::host
