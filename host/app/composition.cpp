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

std::string precision_plugin(const Settings& settings) {
  // Without a plugin of its own name, the type that training.md's table resolves to decides.
  return settings.precision.plugin.empty() ? "fp32" : settings.precision.plugin;
}

}  // namespace

Composition::Composition(Run& run, Registry& registry, ComposeMode mode)
    : run_(run), registry_(registry), mode_(mode) {}

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
  context.log = [](int level, const std::string& plugin, const std::string& message) {
    log_line(level, plugin + ": " + message);
  };
  context.event = [events = run_.events.get()](const std::string& name, const stc_field* fields, uint64_t n) {
    events->emit(event_from_fields(name, fields, n));
  };
}

void Composition::warn(const std::string& text) const {
  if (mode_ == ComposeMode::kCheck) {
    std::cerr << "warning: " << text << "\n";
  } else {
    log_line(STC_LOG_WARNING, text);
  }
}

void Composition::build_data() {
  const DataSettings& data = run_.settings.data;
  run_.dataset = std::make_unique<Dataset>(spec(STC_KIND_DATASET, data.plugin, "data"));
  const auto& fields = run_.dataset->fields();
  const bool needs_tokenizer = std::any_of(fields.begin(), fields.end(), [](const FieldInfo& field) {
    return field.form == STC_FIELD_UTF8;
  });
  if (needs_tokenizer) {
    run_.tokenizer = std::make_unique<Tokenizer>(spec(STC_KIND_TOKENIZER, data.tokenizer, "data"));
    if (run_.tokenizer->size() > static_cast<uint64_t>(data.vocab_size)) {
      throw ConfigError("model.vocab_size: got " + std::to_string(data.vocab_size) + ", tokenizer " +
                            data.tokenizer + " has " + std::to_string(run_.tokenizer->size()) + " tokens",
                        "raise model.vocab_size to at least the tokenizer's size",
                        run_.config.where("model.vocab_size"));
    }
  }
}

void Composition::build_model() {
  const Settings& settings = run_.settings;
  run_.model = std::make_unique<Model>(spec(STC_KIND_MODEL, settings.model_name, "model"));
  run_.model->init(settings.run.seed);
  if (!settings.gradient_checkpointing) return;
  std::string reason;
  if (!run_.model->set_gradient_checkpointing(true, reason)) {
    warn("gradient_checkpointing: model " + settings.model_name + " cannot: " + reason);
  }
}

void Composition::build_precision() {
  const Settings& settings = run_.settings;
  run_.precision =
      std::make_unique<Precision>(spec(STC_KIND_PRECISION, precision_plugin(settings), "precision"));
  plan_ = run_.precision->resolve(run_.context.device, settings.precision.request);
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
    if (settings.resume != CheckpointSettings::Resume::kNo) {
      warn("checkpoint.resume: checkpoint.enabled is false, starting anew");
    }
    return;
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
    if (!resume_from_ && settings.resume == CheckpointSettings::Resume::kYes) {
      warn("resume: no checkpoint in " + checkpoint_directory(run_.settings) + ", starting anew");
    }
  }
}

void Composition::build_trainer() {
  RunContext& context = run_.context;
  run_.loader = std::make_unique<Loader>(
      *run_.dataset, run_.tokenizer.get(), run_.settings.data, "train",
      [&context] { return context.cancelled.load() || context.stop_signal.load() != 0; });
  TrainerParts parts;
  parts.config = &run_.config;
  parts.settings = &run_.settings;
  parts.context = &context;
  parts.events = run_.events.get();
  parts.model = run_.model.get();
  parts.optimizer = run_.optimizer.get();
  parts.precision = run_.precision.get();
  parts.plan = plan_;
  parts.loader = run_.loader.get();
  parts.store = run_.store.get();
  parts.device_name = device_name_;
  parts.run_id = run_.run_id;
  run_.trainer = std::make_unique<Trainer>(std::move(parts));
  report_routing();
  if (mode_ == ComposeMode::kCheck) return;
  if (resume_from_) {
    run_.trainer->restore(*resume_from_);
    resume_from_.reset();
  }
  if (!run_.store) return;
  if (continues_run_) {
    run_.store->begin_resumed(run_.run_id);
  } else {
    run_.store->begin_new(run_.run_id, [this](const std::string& text) { warn(text); });
  }
}

void Composition::report_routing() const {
  for (const AlgorithmShare& share : run_.trainer->routing()) {
    if (mode_ == ComposeMode::kCheck) {
      std::cerr << "optimizer: " << line_of(share) << "\n";
    } else {
      log_line(STC_LOG_DEBUG, "optimizer: " + line_of(share));
    }
  }
}

void Composition::open_sinks() {
  if (mode_ == ComposeMode::kCheck) return;
  const Settings& settings = run_.settings;
  std::filesystem::create_directories(settings.run.output_dir);
  SinkRun info;
  info.run_id = run_.run_id;
  info.run_name = settings.run.name;
  info.run_dir = settings.run.output_dir;
  info.config_json = to_json(run_.config.redacted());
  info.start_step = run_.trainer->counters().step;
  for (const SinkSettings& sink : settings.logging.sinks) {
    run_.events->add(std::make_unique<Sink>(
        instance_spec(registry_, run_.context, run_.config, STC_KIND_SINK, sink.name, sink.section, "logging.sinks"),
        info));
  }
}

}  // namespace stc::host
