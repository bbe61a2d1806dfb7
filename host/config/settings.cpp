#include "host/config/settings.hpp"

#include <utility>

namespace stc::host {
namespace {

class Reader {
 public:
  explicit Reader(const Config& config) : config_(config) {}
  std::string text(const char* path) const { return config_.at(path).get<std::string>(); }
  int64_t integer(const char* path) const { return config_.at(path).get<int64_t>(); }
  double number(const char* path) const { return config_.at(path).get<double>(); }
  bool flag(const char* path) const { return config_.at(path).get<bool>(); }
  /// Negative seeds count down from 2^64, as LibTorch takes them.
  uint64_t seed(const char* path) const {
    const Value& value = config_.at(path);
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    return static_cast<uint64_t>(value.get<int64_t>());
  }
  template <class T>
  std::optional<T> maybe(const char* path) const {
    const Value& value = config_.at(path);
    if (value.is_null()) return std::nullopt;
    return value.get<T>();
  }

 private:
  const Config& config_;
};

RunSettings run_settings(const Reader& read) {
  RunSettings run;
  run.name = read.text("run.name");
  run.seed = read.seed("run.seed");
  run.device = read.text("run.device");
  run.target_step = read.maybe<int64_t>("data.max_steps").value_or(read.integer("run.max_steps"));
  run.output_dir = read.text("run.output_dir");
  run.fast_path = read.text("run.fast_path");
  run.loss_average = read.text("run.loss_average");
  run.nan_policy = read.text("run.nan_policy");
  run.max_time_s = read.maybe<double>("run.max_time");
  return run;
}

DataSettings data_settings(const Reader& read) {
  DataSettings data;
  data.plugin = read.text("data.name");
  data.tokenizer = read.text("data.tokenizer");
  data.block_size = read.integer("data.block_size");
  data.vocab_size = read.integer("model.vocab_size");
  data.micro_batch_size = read.integer("data.micro_batch_size");
  data.accumulation_steps = read.integer("data.target_batch_size") / data.micro_batch_size;
  data.num_workers = read.integer("data.num_workers");
  data.prefetch_factor = read.maybe<int64_t>("data.prefetch_factor").value_or(2);
  data.pin_memory = read.maybe<bool>("data.pin_memory");
  data.shuffle = read.flag("data.shuffle");
  data.drop_last = read.flag("data.drop_last");
  data.seed = read.seed("data.seed");
  return data;
}

OptimizerSettings optimizer_settings(const Reader& read, const Value& groups) {
  OptimizerSettings optimizer;
  optimizer.name = read.text("optimizer.name");
  optimizer.lr = read.number("optimizer.lr");
  optimizer.weight_decay = read.number("optimizer.weight_decay");
  optimizer.grad_clip = read.maybe<double>("optimizer.grad_clip");
  optimizer.cautious = read.flag("optimizer.cautious");
  optimizer.no_decay = read.flag("optimizer.no_decay");
  optimizer.muon_lr = read.maybe<double>("optimizer.muon_lr");
  for (const Value& item : groups) {
    ParameterGroup& group = optimizer.groups.emplace_back();
    group.match = item.at("match").get<std::string>();
    if (item.contains("lr")) group.lr = item.at("lr").get<double>();
    if (item.contains("weight_decay")) group.weight_decay = item.at("weight_decay").get<double>();
  }
  return optimizer;
}

SchedulerSettings scheduler_settings(const Reader& read) {
  SchedulerSettings scheduler;
  scheduler.name = read.text("scheduler.name");
  scheduler.warmup_steps = read.integer("scheduler.warmup_steps");
  scheduler.max_steps = read.integer("scheduler.max_steps");
  scheduler.min_lr_ratio = read.number("scheduler.min_lr_ratio");
  scheduler.decay_steps = read.maybe<int64_t>("scheduler.decay_steps");
  scheduler.cycles = read.maybe<int64_t>("scheduler.cycles");
  return scheduler;
}

PrecisionSettings precision_settings(const Reader& read) {
  PrecisionSettings precision;
  const std::string mode = read.text("precision.mode");
  bool request = mode == "auto" || mode == "bf16" || mode == "fp16" || mode == "fp32";
  precision.request = mode;
  if (!request) precision.plugin = mode;
  if (mode == "auto") {
    precision.request = read.maybe<std::string>("precision.dtype").value_or("auto");
  }
  precision.max_skipped_steps = read.integer("precision.max_skipped_steps");
  return precision;
}

CheckpointSettings checkpoint_settings(const Reader& read, const Value& resume) {
  CheckpointSettings checkpoint;
  checkpoint.enabled = read.flag("checkpoint.enabled");
  checkpoint.directory = read.text("checkpoint.directory");
  checkpoint.every_steps = read.integer("checkpoint.every_steps");
  checkpoint.keep_last = read.maybe<int64_t>("checkpoint.keep_last");
  checkpoint.keep_every = read.maybe<int64_t>("checkpoint.keep_every");
  using Resume = CheckpointSettings::Resume;
  checkpoint.resume = resume.is_string() ? Resume::kAuto : resume.get<bool>() ? Resume::kYes : Resume::kNo;
  return checkpoint;
}

ShapeSettings shape_settings(const Reader& read, const Value& alignment) {
  ShapeSettings shapes;
  shapes.enabled = read.flag("shape_validation.enabled");
  shapes.alignment = alignment.is_null()     ? "auto"
                     : alignment.is_string() ? alignment.get<std::string>()
                                             : alignment.dump();
  shapes.check_batch = read.flag("shape_validation.check_batch");
  shapes.check_sequence = read.flag("shape_validation.check_sequence");
  shapes.check_model = read.flag("shape_validation.check_model");
  shapes.check_vocab = read.flag("shape_validation.check_vocab");
  shapes.warn_on_cpu = read.flag("shape_validation.warn_on_cpu");
  return shapes;
}

/// Python's other names of levels.
std::string level_name(std::string level) {
  if (level == "WARN") return "WARNING";
  if (level == "FATAL") return "CRITICAL";
  if (level == "NOTSET") return "DEBUG";
  return level;
}

LoggingSettings logging_settings(const Reader& read, const std::vector<SinkSection>& sinks) {
  LoggingSettings logging;
  logging.level = level_name(read.text("logging.level"));
  logging.file = read.maybe<std::string>("logging.file");
  if (logging.file && logging.file->empty()) logging.file.reset();
  logging.every_steps = read.integer("logging.every_steps");
  for (const SinkSection& sink : sinks) logging.sinks.push_back({sink.name, sink.section, sink.path});
  return logging;
}

EvaluationSettings evaluation_settings(const Reader& read, const Config& config) {
  EvaluationSettings evaluation;
  evaluation.every_steps = read.maybe<int64_t>("run.eval_every");
  const Value& paths = config.at("data.validation_path");
  if (paths.is_string()) {
    evaluation.sets.push_back({"validation", paths.get<std::string>()});
  } else if (paths.is_object()) {
    for (const auto& [name, path] : paths.items()) {
      evaluation.sets.push_back({name, path.get<std::string>()});
    }
  }
  if (const Value& stop = config.at("early_stop"); stop.is_object()) {
    evaluation.early_stop = {stop.at("patience").get<int64_t>(), stop.at("min_delta").get<double>()};
  }
  for (const Value& prompt : config.at("logging.sample_prompts")) {
    evaluation.sample_prompts.push_back(prompt.get<std::string>());
  }
  return evaluation;
}

}  // namespace

Settings make_settings(const Config& config) {
  Reader read(config);
  Settings settings;
  settings.run = run_settings(read);
  const Value& threads = config.at("run.threads");
  if (threads.is_number()) settings.run.threads = threads.get<int64_t>();
  settings.model_name = read.text("model.name");
  if (settings.model_name == "gpt") settings.model_name = "reference_transformer";
  settings.gradient_checkpointing = read.flag("gradient_checkpointing");
  settings.compile = read.flag("compile");
  settings.ooo_backprop = read.flag("ooo_backprop");
  settings.ooo_streams = read.integer("ooo_streams");
  settings.shapes = shape_settings(read, config.at("shape_validation.alignment"));
  settings.data = data_settings(read);
  settings.optimizer = optimizer_settings(read, config.at("optimizer.groups"));
  settings.scheduler = scheduler_settings(read);
  settings.precision = precision_settings(read);
  settings.checkpoint = checkpoint_settings(read, config.at("checkpoint.resume"));
  settings.logging = logging_settings(read, config.sinks());
  settings.evaluation = evaluation_settings(read, config);
  if (const Value& ema = config.at("ema"); ema.is_object()) {
    settings.ema = {ema.at("decay").get<double>(), ema.at("every").get<int64_t>()};
  }
  return settings;
}

}  // namespace stc::host
