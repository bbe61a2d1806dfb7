#include "host/app/composition.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <random>

#include "host/app/instance_spec.hpp"
#include "host/events/fields.hpp"
#include "host/events/receivers.hpp"
#include "host/events/sink.hpp"
#include "host/train/device.hpp"
#include "host/train/precision_choice.hpp"
#include "host/train/rng_state.hpp"
#include "stc/version.hpp"

namespace stc::host {
namespace {

/// 128 random bits in hexadecimal; names a run across resumes.
std::string new_run_id() {
  std::random_device source;
  static const char digits[] = "0123456789abcdef";
  std::string id;
  for (int i = 0; i < 4; ++i) {
    unsigned bits = source();
    for (int j = 0; j < 8; ++j, bits >>= 4) id.push_back(digits[bits & 15]);
  }
  return id;
}

std::string checkpoint_directory(const Settings& settings) {
  const std::filesystem::path directory(settings.checkpoint.directory);
  if (directory.is_absolute()) return directory.string();
  return (std::filesystem::path(settings.run.output_dir) / directory).string();
}

}  // namespace

Composition::Composition(Run& run, Registry& registry, ComposeMode mode)
    : run_(run), registry_(registry), mode_(mode) {}

void Composition::record_trace() {
  const std::string& folder = run_.settings.run.output_dir;
  std::filesystem::create_directories(folder);
  run_.trace = std::make_unique<TraceRecorder>(free_trace_path(folder));
  run_.context.trace = [trace = run_.trace.get()](const char* name, bool begin) {
    begin ? trace->begin(name) : trace->end(name);
  };
}

InstanceSpec Composition::spec(int kind, const std::string& name, const std::string& section) {
  return instance_spec(registry_, run_.context, run_.config, kind, name, section);
}

void Composition::prepare_context() {
  const Settings& settings = run_.settings;
  const int threads = set_threads(settings.run.threads);
  const Device device = resolve_device(run_.config, settings.run.device);
  device_name_ = device.name;
  RunContext& context = run_.context;
  context.seed = settings.run.seed;
  context.run_dir = settings.run.output_dir;
  context.registry = &registry_;
  context.config = &run_.config;
  context.device = device.info;
  context.device.num_threads = threads;
  open_log();
  // Before any plugin exists: what a plugin draws from LibTorch's generators follows run.seed.
  seed_generators(settings.run.seed);
}

void Composition::open_log() {
  const Settings& settings = run_.settings;
  run_.events = std::make_unique<EventBus>();
  RunContext& context = run_.context;
  if (mode_ == ComposeMode::kCheck) {
    context.log = [](int level, const std::string& plugin, const std::string& message) {
      if (level >= STC_LOG_WARNING) std::cerr << "warning: " << plugin << ": " << message << "\n";
    };
    return;
  }
  run_.events->add(make_text_log({settings.logging.file, settings.logging.level, settings.run.target_step}));
  if (settings.logging.level == "DEBUG") context.log_level = STC_LOG_DEBUG;
  context.log = [events = run_.events.get()](int level, const std::string& plugin, const std::string& message) {
    events->log(level, plugin + ": " + message);
  };
  context.event = [events = run_.events.get()](const std::string& name, const stc_field* fields, uint64_t n) {
    events->emit(event_from_fields(name, fields, n));
  };
}

void Composition::warn(const std::string& text) const {
  if (mode_ == ComposeMode::kCheck) {
    std::cerr << "warning: " << text << "\n";
  } else {
    run_.events->log(STC_LOG_WARNING, text);
  }
}

void Composition::build_data() {
  const DataSettings& data = run_.settings.data;
  run_.dataset = std::make_unique<Dataset>(spec(STC_KIND_DATASET, data.plugin, "data"));
  if (data.shuffle && !run_.dataset->indexed()) {
    warn("data.shuffle: has no effect, dataset " + data.plugin + " is a stream and is read in its own order");
  }
  build_tokenizer(*run_.dataset);
}

/// Once, for the first dataset that is text.
void Composition::build_tokenizer(const Dataset& dataset) {
  const DataSettings& data = run_.settings.data;
  const auto& fields = dataset.fields();
  const bool needed =
      std::any_of(fields.begin(), fields.end(), [](const FieldInfo& field) { return field.form == STC_FIELD_UTF8; });
  if (!needed || run_.tokenizer) return;
  run_.tokenizer = std::make_unique<Tokenizer>(spec(STC_KIND_TOKENIZER, data.tokenizer, "data"));
  if (run_.tokenizer->size() <= static_cast<uint64_t>(data.vocab_size)) return;
  throw ConfigError("model.vocab_size: got " + std::to_string(data.vocab_size) + ", tokenizer " + data.tokenizer +
                        " has " + std::to_string(run_.tokenizer->size()) + " tokens",
                    "raise model.vocab_size to at least the tokenizer's size", run_.config.where("model.vocab_size"));
}

/// The plugin of the training data where it reads a file by text_path, else text.
std::string Composition::validation_plugin() {
  const std::string& name = run_.settings.data.plugin;
  const auto& params = registry_.load(STC_KIND_DATASET, name).declaration.params;
  const bool reads_text_path =
      std::any_of(params.begin(), params.end(), [](const Param& param) { return param.name == "text_path"; });
  return reads_text_path ? name : "text";
}

std::unique_ptr<Dataset> Composition::validation_dataset(const std::string& plugin, const std::string& path,
                                                         const std::string& key) {
  InstanceSpec instance = spec(STC_KIND_DATASET, plugin, "data");
  instance.section["text_path"] = path;
  try {
    return std::make_unique<Dataset>(std::move(instance));
  } catch (const ConfigError& error) {  // about the key that this path stands for
    const std::string subject = "data.text_path: ";
    const std::string message = error.what();
    if (!message.starts_with(subject)) throw;
    throw ConfigError(key + ": " + message.substr(subject.size()), error.hint(),
                      run_.config.where("data.validation_path"));
  }
}

void Composition::build_validation() {
  const std::vector<ValidationSetting>& sets = run_.settings.evaluation.sets;
  if (sets.empty()) return;
  const std::string plugin = validation_plugin();
  const bool named = run_.config.at("data.validation_path").is_object();
  for (const ValidationSetting& set : sets) {
    const std::string key = "data.validation_path" + (named ? "." + set.name : std::string());
    auto dataset = validation_dataset(plugin, set.path, key);
    build_tokenizer(*dataset);
    try {
      validation_.push_back(std::make_unique<ValidationSet>(set.name, std::move(dataset), run_.tokenizer.get(),
                                                            run_.settings.data, stop_predicate()));
    } catch (const DataError& error) {
      throw ConfigError(key + ": " + error.what(), error.hint(), run_.config.where("data.validation_path"));
    }
  }
}

std::function<bool()> Composition::stop_predicate() {
  return [&context = run_.context] { return context.cancelled.load() || context.stop_signal.load() != 0; };
}

void Composition::build_model() {
  const Settings& settings = run_.settings;
  run_.model = std::make_unique<Model>(spec(STC_KIND_MODEL, settings.model_name, "model"));
  run_.model->init(settings.run.seed);
  const stc_device_info& device = run_.context.device;
  const bool own_kernels = run_.model->has_own_kernels(device.type, plan_.compute_dtype);
  if (const std::string text = emulation_warning(device, plan_, settings.model_name, own_kernels); !text.empty()) {
    warn(text);
  }
  if (!settings.gradient_checkpointing) return;
  std::string reason;
  if (!run_.model->set_gradient_checkpointing(true, reason)) {
    warn("gradient_checkpointing: model " + settings.model_name + " cannot: " + reason);
  }
}

void Composition::build_precision() {
  const Settings& settings = run_.settings;
  // A mode that names a plugin of its own goes there as it is.
  std::string plugin = settings.precision.plugin;
  std::string request = settings.precision.request;
  if (plugin.empty()) {
    const PrecisionChoice choice = choose_precision(run_.context.device, request);
    if (!choice.warning.empty()) warn(choice.warning);
    plugin = request = choice.plugin;
  }
  run_.precision = std::make_unique<Precision>(spec(STC_KIND_PRECISION, plugin, "precision"));
  plan_ = run_.precision->resolve(run_.context.device, request);
  run_.context.compute_dtype = plan_.compute_dtype;
  if (!plan_.warning.empty()) warn("precision: " + plan_.warning);
}

InstanceSpec Composition::optimizer_spec() {
  const OptimizerSettings& settings = run_.settings.optimizer;
  InstanceSpec base = spec(STC_KIND_OPTIMIZER, settings.name, "optimizer");
  if (!settings.cautious) return base;
  InstanceSpec wrapper = spec(STC_KIND_OPTIMIZER, "cautious", "optimizer");
  wrapper.section = base.section;
  wrapper.section["name"] = settings.name;
  return wrapper;
}

void Composition::build_optimizer() { run_.optimizer = std::make_unique<Optimizer>(optimizer_spec()); }

void Composition::open_store() {
  const CheckpointSettings& settings = run_.settings.checkpoint;
  const auto note = [this](const std::string& text) { warn(text); };
  run_.run_id = new_run_id();
  if (!settings.enabled) {
    if (settings.resume != CheckpointSettings::Resume::kYes) return;
    throw ConfigError("checkpoint.resume: got true, expected false when checkpoint.enabled is false",
                      "set checkpoint.enabled: true, or do not resume", run_.config.where("checkpoint.resume"));
  }
  if (mode_ == ComposeMode::kCheck) return;
  run_.store = std::make_unique<CheckpointStore>(
      StoreOptions{checkpoint_directory(run_.settings), settings.keep_last, settings.keep_every, STC_VERSION});
  if (settings.resume != CheckpointSettings::Resume::kNo) {
    resume_from_ = run_.store->open_latest(note);
    if (const std::string id = run_.store->run_id(); !id.empty()) {
      run_.run_id = id;
      continues_run_ = true;
    }
    if (!resume_from_ && run_.store->holds_steps()) {
      throw CheckpointError(checkpoint_directory(run_.settings) + ": none of its checkpoints can be read",
                            "stc-host inspect says what is wrong with each; without --resume a new run begins, and "
                            "the folder is kept under another name",
                            run_.config.where("checkpoint.resume"));
    }
    if (!resume_from_ && settings.resume == CheckpointSettings::Resume::kYes) {
      warn("resume: no checkpoint in " + checkpoint_directory(run_.settings) + ", starting anew");
    }
  }
}

void Composition::build_review() {
  const Settings& settings = run_.settings;
  if (!settings.evaluation.wanted()) return;
  ReviewParts parts;
  parts.settings = &settings;
  parts.events = run_.events.get();
  parts.optimizer = run_.optimizer.get();
  parts.tokenizer = run_.tokenizer.get();
  parts.ema = run_.ema.get();
  parts.prompts_at = run_.config.where("logging.sample_prompts");
  parts.evaluation.model = run_.model.get();
  parts.evaluation.plan = plan_;
  parts.evaluation.device_name = device_name_;
  parts.evaluation.capacity = settings.data.micro_batch_size * settings.data.block_size;
  parts.evaluation.stop = stop_predicate();
  run_.review = std::make_unique<EvaluationReview>(std::move(parts), std::move(validation_));
}

void Composition::build_trainer(const std::vector<std::string>& allowed) {
  run_.loader =
      std::make_unique<Loader>(*run_.dataset, run_.tokenizer.get(), run_.settings.data, "train", stop_predicate());
  if (run_.settings.ema) {
    run_.ema = std::make_unique<Ema>(*run_.settings.ema, run_.model->parameters());
  }
  build_review();
  TrainerParts parts;
  parts.config = &run_.config;
  parts.settings = &run_.settings;
  parts.context = &run_.context;
  parts.events = run_.events.get();
  parts.model = run_.model.get();
  parts.optimizer = run_.optimizer.get();
  parts.precision = run_.precision.get();
  parts.plan = plan_;
  parts.loader = run_.loader.get();
  parts.store = run_.store.get();
  parts.ema = run_.ema.get();
  parts.review = run_.review.get();
  parts.device_name = device_name_;
  parts.run_id = run_.run_id;
  if (run_.store && !continues_run_) {
    parts.begin_saving = [store = run_.store.get(), events = run_.events.get(), id = run_.run_id] {
      store->begin_new(id, [events](const std::string& text) { events->log(STC_LOG_WARNING, text); });
    };
  }
  parts.shapes = validate_shapes(run_.settings, device_name_.substr(0, device_name_.find(':')),
                                 precision_word(plan_.compute_dtype), run_.model->dimensions());
  run_.trainer = std::make_unique<Trainer>(std::move(parts));
  report_routing();
  if (mode_ == ComposeMode::kCheck) {
    run_.loader->next();  // the data are there, and of the right kind
    return;
  }
  if (resume_from_) {
    run_.trainer->restore(*resume_from_, allowed);
    resume_from_.reset();
  } else if (!allowed.empty()) {
    warn("--allow: has no effect, the run does not resume");
  }
  if (!run_.store) return;
  if (continues_run_) {
    run_.store->begin_resumed(run_.run_id);
  } else {
    run_.store->claim();
  }
}

void Composition::report_routing() const {
  for (const AlgorithmShare& share : run_.trainer->routing()) {
    if (mode_ == ComposeMode::kCheck) {
      std::cerr << "optimizer: " << line_of(share) << "\n";
    } else {
      run_.events->log(STC_LOG_DEBUG, "optimizer: " + line_of(share));
    }
  }
}

void Composition::open_sinks() {
  const Settings& settings = run_.settings;
  if (mode_ != ComposeMode::kCheck) std::filesystem::create_directories(settings.run.output_dir);
  SinkRun info;
  info.run_id = run_.run_id;
  info.run_name = settings.run.name;
  info.run_dir = settings.run.output_dir;
  info.config_json = to_json(run_.config.redacted());
  info.start_step = run_.trainer->counters().step;
  for (size_t i = 0; i < settings.logging.sinks.size(); ++i) {
    const SinkSettings& setting = settings.logging.sinks[i];
    auto sink = std::make_unique<Sink>(instance_spec(registry_, run_.context, run_.config, STC_KIND_SINK, setting.name,
                                                     setting.section, setting.path));
    if (mode_ == ComposeMode::kCheck) continue;
    try {
      sink->open(info);
    } catch (const PluginError& error) {
      const bool listed = setting.path.starts_with("logging.sinks");
      throw PluginError(setting.path + ": " + error.what(), error.hint(),
                        run_.config.where(listed ? "logging.sinks" : setting.path));
    }
    run_.events->add(std::move(sink));
  }
}

}  // namespace stc::host
