// The keys of Speedtronic 2.0.0 in its order, with its defaults and checks.

#include "host/config/key_builder.hpp"

namespace stc::host {
namespace {

using namespace key_types;
using Form = HostKey::Form;

void add(std::vector<HostKey>& out, const char* section, const std::vector<Key>& keys) {
  for (const Key& key : keys) out.push_back(key.build(section, true));
}

void add_run(std::vector<HostKey>& out) {
  add(out, "run",
      {Key("name", kString, "speedtronic-run", "label of the run; never part of a path"),
       Key("seed", kInt, "1234", "seed of every random stream").form(Form::kSeed),
       Key("device", kString, "auto", "auto, cpu, cuda, cuda:<n> or mps; auto takes cuda, then mps, then cpu")
           .form(Form::kDevice),
       Key("max_steps", kInt, "1000", "optimizer steps to reach, counted from the start of the run, also across resume")
           .at_least(1),
       Key("output_dir", kPath, "runs", "folder of relative checkpoint and distributed state paths"),
       Key("log_every", kInt, kNull, "copied to logging.every_steps where that is still 1").at_least(1)});
}

void add_model(std::vector<HostKey>& out) {
  add(out, "model",
      {Key("name", kString, "reference_transformer", "model plugin; gpt is an alias of the default").read_by_host(),
       Key("vocab_size", kInt, "512", "size of the vocabulary").count().read_by_host(),
       Key("max_seq_len", kInt, "128", "longest sequence, in tokens").count().read_by_host(),
       Key("n_layer", kInt, "4", "number of blocks").count(), Key("n_head", kInt, "8", "attention heads").count(),
       Key("n_kv_head", kInt, kNull, "key and value heads, a divisor of n_head; null: n_head").count(),
       Key("d_model", kInt, "256", "width, divisible by n_head").count(),
       Key("d_ff", kInt, kNull, "width of the feed-forward layer; null: 4 * d_model").count(),
       Key("dropout", kFloat, "0.0", "probability of dropping an activation").at_least(0).below(1),
       Key("tie_weights", kBool, "true", "one matrix for embedding and output"),
       Key("rope_base", kFloat, "10000.0", "base of the rotary frequencies").above(0),
       Key("gradient_checkpointing", kBool, "false",
           "recompute blocks in the backward pass; on when this or the root's key is true")
           .read_by_host()});
}

void add_data(std::vector<HostKey>& out) {
  add(out, "data",
      {Key("text_path", kPath, kNull, "UTF-8 text file; first in precedence").read_by_host(),
       Key("dataset", kPath, kNull, "stored data set; second in precedence").read_by_host().later(),
       Key("synthetic", kBool, "true", "random tokens when there is no other source").read_by_host(),
       Key("num_tokens", kInt, "100000", "number of SAMPLES of synthetic data (historic name)").at_least(1),
       Key("vocab_size", kInt, kNull, "ignored: model.vocab_size rules").count().read_by_host(),
       Key("block_size", kInt, kNull, "tokens in a sample; null: model.max_seq_len").count().read_by_host(),
       Key("micro_batch_size", kInt, "1", "samples in one forward pass").count().read_by_host(),
       Key("target_batch_size", kInt, "1", "samples in one optimizer step, a multiple of micro_batch_size")
           .count()
           .read_by_host(),
       Key("num_workers", kInt, "0", "loader threads; 0: load in the training thread")
           .at_least(0)
           .at_most(1024)
           .read_by_host(),
       Key("prefetch_factor", kInt, kNull, "batches ready ahead for each worker; null: 2").count().read_by_host(),
       Key("pin_memory", kBool, kNull, "page-locked batches; null: true on CUDA").read_by_host(),
       Key("shuffle", kBool, "false", "new order each epoch; off for streamed data").read_by_host(),
       Key("drop_last", kBool, "true", "leave out a last batch that is too small").read_by_host(),
       Key("seed", kInt, kNull, "seed of the data; null: run.seed").form(Form::kSeed).read_by_host(),
       Key("max_steps", kInt, kNull, "step target that wins over run.max_steps").at_least(1).read_by_host()});
}

void add_optimizer(std::vector<HostKey>& out) {
  add(out, "optimizer",
      {Key("name", kString, "adamw", "optimizer plugin").lower().read_by_host(),
       Key("lr", kFloat, "0.0003", "base learning rate").above(0).read_by_host(),
       Key("betas", kFloats, "[0.9, 0.95]", "decay of the first and second moment").at_least(0).below(1),
       Key("eps", kFloat, "1e-8", "added to the root of the second moment").above(0),
       Key("weight_decay", kFloat, "0.1", "decoupled weight decay").at_least(0).read_by_host(),
       Key("fused", kBool, kNull, "one fused update; null: where it works"),
       Key("grad_clip", kFloat, kNull, "largest global L2 norm of the gradient").above(0).read_by_host(),
       Key("muon_plus", kBool, "false", "normalise Muon's update by rows and columns"),
       Key("cautious", kBool, "false", "apply only what agrees in sign with the gradient").read_by_host(),
       Key("muon_momentum", kFloat, "0.95", "Muon's momentum").at_least(0).below(1),
       Key("muon_ns_steps", kInt, "5", "Newton-Schulz iterations").at_least(1).at_most(1000),
       Key("muon_norm_eps", kFloat, "1e-8", "added to the norms of muon_plus").above(0)});
}

void add_scheduler(std::vector<HostKey>& out) {
  add(out, "scheduler",
      {Key("name", kEnum, "cosine", "shape of the learning rate after warm-up")
           .words({"cosine", "constant", "linear", "inverse_sqrt", "wsd", "cosine_with_restarts"})
           .lower(),
       Key("warmup_steps", kInt, "100", "steps of linear warm-up").at_least(0),
       Key("max_steps", kInt, "1000", "last step of the schedule; 1000 follows the step target").at_least(1),
       Key("min_lr_ratio", kFloat, "0.1", "last factor of cosine, cosine_with_restarts, linear and wsd")
           .at_least(0)
           .at_most(1)});
  add(out, "precision",
      {Key("mode", kString, "auto", "auto, bf16, fp16, fp32, or a precision plugin").lower().read_by_host(),
       Key("dtype", kEnum, kNull, "request to use when mode is auto")
           .words({"bf16", "fp16", "fp32"})
           .lower()
           .read_by_host()});
}

void add_checkpoint_and_logging(std::vector<HostKey>& out) {
  add(out, "checkpoint",
      {Key("enabled", kBool, "true", "write checkpoints"),
       Key("directory", kPath, "checkpoints", "folder, relative to run.output_dir"),
       Key("every_steps", kInt, "500", "optimizer steps between checkpoints").at_least(1),
       Key("keep_last", kInt, "3", "newest checkpoints to keep; null: all").at_least(1).nullable(),
       Key("resume", kBool, "false", "continue from the newest checkpoint; auto: without a warning when there is none")
           .words({"auto"})});
  add(out, "logging",
      {Key("level", kEnum, "INFO", "lowest level of the text log")
           .words({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "WARN", "FATAL", "NOTSET"})
           .upper(),
       Key("file", kPath, kNull, "text log instead of standard output"),
       Key("every_steps", kInt, "1", "optimizer steps between train_step records").at_least(1),
       Key("json_file", kPath, kNull, "events as JSON lines; implies the sink jsonl")});
}

void add_distributed(std::vector<HostKey>& out) {
  add(out, "distributed",
      {Key("enabled", kBool, "false", "train with other nodes; needs repo_id").read_by_host().later(),
       Key("mode", kString, "dumb_diloco", "dumb_diloco, single, or a coordinator plugin").lower().read_by_host(),
       Key("role", kEnum, "single", "single, master or worker; enabled and single is master")
           .words({"single", "master", "worker"})
           .lower()
           .read_by_host(),
       Key("node_id", kString, kNull, "name of this node; null: HF_USERNAME, USER or \"local\"")
           .form(Form::kNodeId)
           .read_by_host(),
       Key("collaborators", kStrings, "[]", "user names that may take part").form(Form::kNames),
       Key("inner_steps", kInt, "500", "local steps between uploads").at_least(1),
       Key("poll_interval", kFloat, "60.0", "seconds between looks at the meeting place").above(0),
       Key("outer_lr", kFloat, "0.7", "learning rate of the outer step").above(0),
       Key("outer_momentum", kFloat, "0.9", "momentum of the outer step").at_least(0).below(1),
       Key("repo_id", kString, kNull, "repository or folder where nodes meet").read_by_host(),
       Key("token", kString, kNull, "access token; better given as HF_TOKEN").secret(),
       Key("cache_dir", kPath, ".speedtronic/hub", "folder of downloads"),
       Key("state_dir", kPath, ".speedtronic/diloco", "folder of state, relative to run.output_dir"),
       Key("retry_initial", kFloat, "1.0", "first wait before trying again, in seconds").above(0),
       Key("retry_max", kFloat, "60.0", "longest wait, in seconds").above(0),
       Key("retry_attempts", kInt, "6", "tries of one transfer").at_least(1).at_most(1000000),
       Key("reset_inner_optimizer", kBool, "true", "forget optimizer state after an outer step"),
       Key("async_delta_upload", kBool, "true", "upload while training goes on"),
       Key("delta_upload_queue_size", kInt, "1", "uploads that may wait").at_least(1).at_most(1),
       Key("delta_upload_overflow", kEnum, "skip", "what happens to an upload beyond the queue")
           .words({"skip"})
           .lower(),
       Key("delta_upload_shutdown_timeout", kFloat, "5.0", "longest wait at the end, in seconds").above(0),
       Key("async_global_poll", kBool, "true", "look for new weights while training goes on")});
}

void add_rest(std::vector<HostKey>& out) {
  add(out, "shape_validation",
      {Key("enabled", kBool, "true", "warn about sizes that are slow on the device"),
       Key("alignment", kInt, "auto", "sizes should be multiples of this; auto: by device")
           .at_least(1)
           .words({"auto", "none"})
           .lower(),
       Key("check_batch", kBool, "true", "look at batch sizes"),
       Key("check_sequence", kBool, "true", "look at the block size"),
       Key("check_model", kBool, "true", "look at the layers of the model"),
       Key("check_vocab", kBool, "false", "look at the vocabulary"),
       Key("warn_on_cpu", kBool, "false", "warn on the CPU too")});
  add(out, "",
      {Key("gradient_checkpointing", kBool, "false", "as model.gradient_checkpointing"),
       Key("compile", kBool, "false", "ask for the model's fused pass, or {enabled: bool}"),
       Key("ooo_backprop", kBool, "false", "streams of their own for the model's stages (CUDA)"),
       Key("ooo_streams", kInt, "4", "number of such streams").at_least(1).at_most(8)});
}

}  // namespace

std::vector<HostKey> keys_of_2_0_0() {
  std::vector<HostKey> out;
  add_run(out);
  add_model(out);
  add_data(out);
  add_optimizer(out);
  add_scheduler(out);
  add_checkpoint_and_logging(out);
  add_distributed(out);
  add_rest(out);
  return out;
}

}  // namespace stc::host
