// `stc-host generate CHECKPOINT --prompt TEXT`: samples from a trained model.

#include <iostream>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/instance_spec.hpp"
#include "host/checkpoint/store.hpp"
#include "host/config/settings.hpp"
#include "host/data/tokenizer.hpp"
#include "host/generate/sampler.hpp"
#include "host/plugins/registry.hpp"
#include "host/train/device.hpp"
#include "host/train/ema.hpp"
#include "host/train/weights.hpp"

namespace stc::host {
namespace {

/// The moving average in place of the weights that it averages.
void load_average(Model& model, const LoadedCheckpoint& checkpoint) {
  if (checkpoint.ema.empty()) {
    throw CheckpointError(checkpoint.path + ": holds no moving average",
                          "train with ema: {decay: ...}, or leave --ema out");
  }
  Ema ema(EmaSettings{}, model.parameters());
  ema.load(checkpoint);
  ema.swap();
  model.parameters_changed();
}

}  // namespace

int generate_command(const GenerateArguments& arguments) {
  if (arguments.prompt.empty()) throw ConfigError("--prompt: is empty, expected at least one token of text");
  const LoadedCheckpoint checkpoint = open_checkpoint(arguments.checkpoint);
  Registry& registry = process_registry(arguments.plugin_paths);
  if (!checkpoint.state.contains("config")) {
    throw CheckpointError(checkpoint.path + "/state.json: holds no configuration");
  }
  const Config config = config_from_value(checkpoint.state.at("config"), registry);
  print_search_faults(registry);
  const Settings settings = make_settings(config);

  RunContext context;
  context.seed = settings.run.seed;
  context.registry = &registry;
  context.config = &config;
  context.device = resolve_device(config, "cpu").info;
  const Tokenizer tokenizer(
      instance_spec(registry, context, config, STC_KIND_TOKENIZER, settings.data.tokenizer, "data"));
  Model model(instance_spec(registry, context, config, STC_KIND_MODEL, settings.model_name, "model"));
  load_weights(model, checkpoint);
  if (arguments.ema) load_average(model, checkpoint);
  model.set_training(false);

  SamplerOptions options;
  options.max_tokens = arguments.max_tokens;
  options.temperature = arguments.temperature;
  options.top_k = arguments.top_k;
  options.seed = arguments.seed;
  options.block_size = settings.data.block_size;
  options.vocabulary = tokenizer.size();
  std::vector<int32_t> ids;
  tokenizer.encode(arguments.prompt, ids);
  std::cout << arguments.prompt;
  sample(model, std::move(ids), options, [&](int32_t id) { std::cout << tokenizer.decode({id}) << std::flush; });
  std::cout << "\n";
  return kExitDone;
}

}  // namespace stc::host
