/// \file
/// Config -> running objects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/evaluate/review.hpp"
#include "host/profile/trace.hpp"
#include "host/train/ema.hpp"
#include "host/train/trainer.hpp"

namespace stc::host {

/// Everything of one run, in the order of construction; destroyed in reverse (workers, sinks closed,
/// optimizer, precision, model, dataset, tokenizer).
struct Run {
  Config config;
  Settings settings;
  RunContext context;
  std::unique_ptr<TraceRecorder> trace;  // with --profile
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Model> model;
  std::unique_ptr<Precision> precision;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<CheckpointStore> store;
  std::unique_ptr<EventBus> events;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Ema> ema;
  std::unique_ptr<EvaluationReview> review;
  std::unique_ptr<Trainer> trainer;
  std::string run_id;
  ~Run();
};

enum class ComposeMode {
  kTrain,    // takes the checkpoint folder, opens sinks, restores when resume says so
  kProfile,  // the same, and records a trace
  kCheck,    // `validate --deep`: builds everything, writes nothing
};

/// \param allowed  differences to the checkpoint that a resumed run accepts, see Trainer::restore.
/// \throws Error of any kind, before anything is overwritten.
std::unique_ptr<Run> compose(Config config, Registry& registry, ComposeMode mode,
                             const std::vector<std::string>& allowed = {});

}  // namespace stc::host
