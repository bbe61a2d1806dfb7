#include "host/app/compose.hpp"

#include <utility>

#include "host/app/composition.hpp"

namespace stc::host {

Run::~Run() {
  trainer.reset();
  review.reset();
  ema.reset();
  context.cancelled = true;  // a worker that waits for its input ends
  loader.reset();
  if (events) events->close();
  store.reset();
  optimizer.reset();
  precision.reset();
  model.reset();
  dataset.reset();
  tokenizer.reset();
  events.reset();  // a plugin may log to its end
}

std::unique_ptr<Run> compose(Config config, Registry& registry, ComposeMode mode,
                             const std::vector<std::string>& allowed) {
  auto run = std::make_unique<Run>();
  run->config = std::move(config);
  run->settings = make_settings(run->config);
  Composition composition(*run, registry, mode);
  composition.prepare_context();
  if (mode == ComposeMode::kProfile) composition.record_trace();
  composition.build_data();
  composition.build_validation();
  composition.build_precision();
  composition.build_model();
  composition.build_optimizer();
  composition.open_store();
  composition.build_trainer(allowed);
  composition.open_sinks();
  return run;
}

}  // namespace stc::host
