/// \file
/// The host's own keys as typed values. Plugins' keys stay in Config and reach them as sections.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.hpp"

namespace stc::host {

struct RunSettings {
  std::string name;
  uint64_t seed = 1234;
  std::string device;       // auto, cpu, cuda, cuda:1, mps
  int64_t target_step = 0;  // resolved by the precedence of step targets
  std::string output_dir;
  std::string fast_path;  // auto, off, require
  std::optional<int64_t> threads;
  std::string loss_average;  // tokens, microbatches
  std::string nan_policy;    // stop, skip, continue
  std::optional<double> max_time_s;
};

struct DataSettings {
  std::string plugin;     // chosen by the precedence of sources: text, synthetic, tokens, or data.name
  std::string tokenizer;  // byte
  int64_t block_size = 0;
  int64_t vocab_size = 0;  // of the model
  int64_t micro_batch_size = 1;
  int64_t accumulation_steps = 1;
  int64_t num_workers = 0;
  int64_t prefetch_factor = 2;
  std::optional<bool> pin_memory;
  bool shuffle = false;
  bool drop_last = true;
  uint64_t seed = 0;
};

/// An entry of optimizer.groups. What it leaves out is as for all other parameters.
struct ParameterGroup {
  std::string match;  // a pattern of parameter names: * ? [...]
  std::optional<double> lr;
  std::optional<double> weight_decay;
};

struct OptimizerSettings {
  std::string name;
  double lr = 0;
  double weight_decay = 0;
  std::vector<ParameterGroup> groups;  // the first that matches a name has it
  bool no_decay = false;               // norms and biases keep their length
  std::optional<double> muon_lr;
  std::optional<double> grad_clip;
  bool cautious = false;
};

struct SchedulerSettings {
  std::string name;  // cosine, constant, linear, inverse_sqrt, wsd, cosine_with_restarts
  int64_t warmup_steps = 0;
  int64_t max_steps = 0;
  double min_lr_ratio = 0;
  std::optional<int64_t> decay_steps;  // of wsd
  std::optional<int64_t> cycles;       // of cosine_with_restarts
};

struct PrecisionSettings {
  std::string request;  // auto, bf16, fp16, fp32: mode, or dtype when mode is auto
  std::string plugin;   // the mode when it names a plugin; else chosen after the device is known
  int64_t max_skipped_steps = 50;
};

struct CheckpointSettings {
  bool enabled = true;
  std::string directory;  // joined with run.output_dir when relative
  int64_t every_steps = 500;
  std::optional<int64_t> keep_last;
  std::optional<int64_t> keep_every;
  enum class Resume { kNo, kYes, kAuto } resume = Resume::kNo;
};

/// A moving average of the weights.
struct EmaSettings {
  double decay = 0;   // in (0, 1)
  int64_t every = 1;  // optimizer steps between updates
};

struct ValidationSetting {
  std::string name;  // "validation" for a single path
  std::string path;
};

struct EarlyStopSettings {
  int64_t patience = 1;  // evaluations without improvement
  double min_delta = 0;
};

struct EvaluationSettings {
  std::optional<int64_t> every_steps;   // nullopt: at the end of the run only
  std::vector<ValidationSetting> sets;  // in the order of the file
  std::optional<EarlyStopSettings> early_stop;
  std::vector<std::string> sample_prompts;
  bool wanted() const { return !sets.empty() || !sample_prompts.empty(); }
};

struct SinkSettings {
  std::string name;
  Value section;     // the sink's own keys, checked
  std::string path;  // for messages: "logging.sinks[1]", "logging.json_file"
};

struct LoggingSettings {
  std::string level;  // DEBUG, INFO, WARNING, ERROR, CRITICAL
  std::optional<std::string> file;
  int64_t every_steps = 1;
  std::vector<SinkSettings> sinks;  // json_file included as sink jsonl
};

struct ShapeSettings {
  bool enabled = true;
  std::string alignment;  // auto, none, or a number
  bool check_batch = true;
  bool check_sequence = true;
  bool check_model = true;
  bool check_vocab = false;
  bool warn_on_cpu = false;
};

/// Everything the host reads itself.
struct Settings {
  RunSettings run;
  std::string model_name;
  bool gradient_checkpointing = false;
  bool compile = false;
  bool ooo_backprop = false;
  int64_t ooo_streams = 4;
  ShapeSettings shapes;
  DataSettings data;
  OptimizerSettings optimizer;
  SchedulerSettings scheduler;
  PrecisionSettings precision;
  CheckpointSettings checkpoint;
  LoggingSettings logging;
  std::optional<EmaSettings> ema;
  EvaluationSettings evaluation;
};

/// \throws nothing for a Config that load_config returned.
Settings make_settings(const Config& config);

}  // namespace stc::host
