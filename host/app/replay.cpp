// `stc-host replay PATH`: the recorded window once more, to see where it stops being finite.

#include <cmath>
#include <iostream>

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/isfinite.h>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/instance_spec.hpp"
#include "host/config/settings.hpp"
#include "host/events/text.hpp"
#include "host/plugins/registry.hpp"
#include "host/train/device.hpp"
#include "host/train/gradient_pass.hpp"
#include "host/train/precision_choice.hpp"
#include "host/train/replay_record.hpp"
#include "host/train/rng_state.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/weights.hpp"

namespace stc::host {
namespace {

/// What a replay needs of a run.
struct Replay {
  Replay(const ReplayRecord& record, const std::string& folder, const ReplayArguments& arguments)
      : registry(process_registry(arguments.plugin_paths)),
        config(config_from_value(record.config, registry)),
        settings(make_settings(config)) {
    set_threads(settings.run.threads);
    const Device found = resolve_device(config, settings.run.device);
    device_name = found.name;
    context.seed = settings.run.seed;
    print_search_faults(registry);
    context.registry = &registry;
    context.config = &config;
    context.device = found.info;
    seed_generators(settings.run.seed);
    std::string plugin = settings.precision.plugin;
    std::string request = settings.precision.request;
    if (plugin.empty()) plugin = request = choose_precision(context.device, request).plugin;
    precision =
        std::make_unique<Precision>(instance_spec(registry, context, config, STC_KIND_PRECISION, plugin, "precision"));
    plan = precision->resolve(context.device, request);
    context.compute_dtype = plan.compute_dtype;
    model =
        std::make_unique<Model>(instance_spec(registry, context, config, STC_KIND_MODEL, settings.model_name, "model"));
    model->init(settings.run.seed);
    load_weights(*model, record.weights, folder);
    std::string reason;
    if (settings.gradient_checkpointing) model->set_gradient_checkpointing(true, reason);
    model->set_training(true);
  }

  Registry& registry;
  Config config;
  Settings settings;
  RunContext context;
  std::string device_name;
  std::unique_ptr<Precision> precision;
  PrecisionPlan plan;
  std::unique_ptr<Model> model;
};

double run_micro_batch(Replay& replay, GradientPass& pass, const ReplayRecord& record, size_t index) {
  const ReplayMicroBatch& item = record.micro_batches[index];
  const auto capacity = static_cast<double>(replay.settings.data.micro_batch_size * replay.settings.data.block_size);
  const bool by_tokens = replay.settings.run.loss_average == "tokens" && item.batch->valid_labels >= 0;
  stc_pass_info info{};
  info.struct_size = sizeof(info);
  info.flags = STC_PASS_TRAINING | (index > 0 ? STC_PASS_ACCUMULATE : 0u);
  info.step = record.step;
  info.micro_batch = static_cast<uint32_t>(index);
  info.dropout_key = item.dropout_key;
  info.weight = (by_tokens ? static_cast<double>(item.batch->valid_labels) / capacity : 1.0) * record.loss_scale;
  const DeviceBatch batch = to_device(item.batch, at::Device(replay.device_name));
  return pass.autograd(info, batch).loss.item<double>();
}

/// The gradient of parameter `index`; undefined when it has none.
at::Tensor gradient_of(Model& model, size_t index) {
  const stc_tensor own = model.gradient(index);
  return own != nullptr ? to_tensor(own) : to_tensor(model.parameters()[index].tensor).grad();
}

/// Prints each gradient with values that are not finite. True: there is one.
bool print_gradients(Model& model) {
  bool any = false;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    if (!model.parameters()[i].trainable) continue;
    const at::Tensor gradient = gradient_of(model, i);
    if (!gradient.defined()) continue;
    const int64_t bad = gradient.numel() - at::isfinite(gradient).sum().item<int64_t>();
    if (bad == 0) continue;
    any = true;
    std::cout << "gradient " << model.parameters()[i].name << ": " << bad << " of " << gradient.numel()
              << " values are not finite\n";
  }
  return any;
}

}  // namespace

int replay_command(const ReplayArguments& arguments) {
  const std::string folder = find_replay_record(arguments.path);
  const ReplayRecord record = read_replay_record(folder);
  Replay replay(record, folder, arguments);
  PhaseClock phases;
  GradientPass pass(*replay.model, replay.plan, at::Device(replay.device_name), phases);

  std::cout << "replay " << folder << ": step " << record.step + 1 << ", run " << record.run_id << "\n";
  bool reproduced = false;
  for (size_t i = 0; i < record.micro_batches.size(); ++i) {
    const double loss = run_micro_batch(replay, pass, record, i);
    std::cout << "micro-batch " << i << ": loss " << shortest_float(loss) << ", recorded "
              << shortest_float(record.micro_batches[i].loss) << ", " << record.micro_batches[i].batch->where << "\n";
    reproduced = reproduced || !std::isfinite(loss);
  }
  reproduced = print_gradients(*replay.model) || reproduced;
  if (!reproduced) {
    throw TrainError("replay " + folder + ": everything is finite this time",
                     "the fault is not a function of weights, batch and dropout: look at the device, at "
                     "plugins with random numbers of their own, or at the thread count");
  }
  std::cout << "reproduced: not finite\n";
  return kExitDone;
}

}  // namespace stc::host
