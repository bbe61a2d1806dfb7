#include "host/app/check_exercises.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "host/config/check.hpp"
#include "host/config/nearest.hpp"
#include "host/data/dataset.hpp"
#include "host/data/tokenizer.hpp"
#include "host/events/sink.hpp"
#include "host/plugins/kinds.hpp"
#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/precision.hpp"

namespace stc::host {
namespace {

std::string label(const LoadedPlugin& plugin) {
  return std::string(kind_name(plugin.declaration.kind)) + " " + plugin.declaration.name;
}

[[noreturn]] void broke(const LoadedPlugin& plugin, const std::string& what) {
  throw PluginError(
      "plugin " + plugin.library + ": " + label(plugin) + ": " + what,
      "the contract of each slot is in stc/abi/" + std::string(kind_name(plugin.declaration.kind)) + ".h");
}

/// Declared defaults as the section of a run file; `missing` collects keys without one.
Value default_section(const PluginDeclaration& declaration, std::vector<std::string>& missing) {
  Value section = Value::object();
  section["name"] = declaration.name;
  for (const Param& param : declaration.params) {
    if ((param.flags & STC_PARAM_REQUIRED) != 0) {
      missing.push_back(param.name);
    } else {
      section[param.name] = default_value(param, declaration.name + "." + param.name);
    }
  }
  return section;
}

/// create through the bare table. \returns the plugin's reason for not being created, empty when it
/// was.
std::string create_and_destroy(const LoadedPlugin& plugin, RunContext& context, const Value& section,
                               CheckReport& report) {
  Services services(plugin.declaration.name, &context);
  const InstanceSlots& slots = instance_slots(plugin.table);
  void* instance = nullptr;
  stc_error* error = nullptr;
  report.begin(label(plugin) + ": create");
  try {
    error = slots.create(&services.table(), services.config_node(section), &instance);
  } catch (...) {
    broke(plugin, "create: an exception came out of the slot: " + describe_current_exception());
  }
  if (error != nullptr) {
    const ErrorText text = take_error(error);
    return text.key.empty() ? text.message : text.key + ": " + text.message;
  }
  if (instance == nullptr) broke(plugin, "create returned neither an instance nor an error");
  report.begin(label(plugin) + ": destroy");
  try {
    slots.destroy(instance);
  } catch (...) {
    broke(plugin, "destroy: an exception came out of the slot: " + describe_current_exception());
  }
  return {};
}

void exercise_tokenizer(InstanceSpec spec) {
  const LoadedPlugin& plugin = *spec.plugin;
  const Tokenizer tokenizer(std::move(spec));
  if (tokenizer.size() == 0) broke(plugin, "size is 0");
  const std::string text = "A short text, \xC3\xA4\xE2\x82\xAC\n";
  std::vector<int32_t> ids;
  tokenizer.encode("", ids);
  tokenizer.encode(text, ids);
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint64_t>(id) >= tokenizer.size()) {
      broke(plugin, "encode gave id " + std::to_string(id) + ", size is " + std::to_string(tokenizer.size()));
    }
  }
  tokenizer.decode(ids);
  if (tokenizer.has_safe_cut() && tokenizer.safe_cut(text) > text.size()) broke(plugin, "safe_cut is beyond the text");
}

/// A precision may be for one kind of device only, and refuses the others in words.
void resolve_somewhere(Precision& precision) {
  stc_device_info device{};
  device.struct_size = sizeof device;
  device.index = -1;
  device.num_threads = 1;
  device.bf16 = device.fp16 = 1;
  device.type = STC_DEVICE_CPU;
  try {
    precision.resolve(device, precision.name());
  } catch (const PluginError&) {
    device.type = STC_DEVICE_CUDA;
    device.index = 0;
    precision.resolve(device, precision.name());
  }
}

void exercise_precision(InstanceSpec spec) {
  Precision precision(std::move(spec));
  resolve_somewhere(precision);
  precision.scale();
  precision.update(false);
  precision.update(true);
}

void exercise_sink(InstanceSpec spec) {
  SinkRun run;
  run.run_id = "check";
  run.run_name = "check";
  run.run_dir = spec.context->run_dir;
  run.config_json = "{}";
  Sink sink(std::move(spec));
  sink.open(run);
  Event event("train_step");
  event.add("step", int64_t{1}).add("loss", 2.5).add("note", std::string("text")).add("missing", FieldValue{});
  sink.on_event(event, 0.0);
  Event infinite("train_step");
  infinite.add("step", int64_t{2}).add("loss", std::nan(""));
  sink.on_event(infinite, 1.0);
  sink.flush();
  sink.close();
}

void exercise_dataset(InstanceSpec spec) {
  Dataset dataset(std::move(spec));
  const std::string split = dataset.splits().front().name;
  const auto whole = dataset.open(split, 0, 1);
  const auto second_of_two = dataset.open(split, 1, 2);
}

void exercise_model(InstanceSpec spec) {
  const LoadedPlugin& plugin = *spec.plugin;
  Model model(std::move(spec));
  model.init(1);
  if (model.parameters().empty()) broke(plugin, "parameters gave none");
  model.buffers();
  model.set_training(true);
  model.dimensions();
  model.parameters_changed();
}

/// A CPU tensor over memory that outlives it.
TensorHandle tensor_over(std::array<float, 16>& memory) {
  static constexpr std::array<int64_t, 2> kSizes = {4, 4};
  const stc_buffer buffer{memory.data(), sizeof memory, STC_DTYPE_FLOAT32, 2, kSizes.data()};
  stc_tensor raw = nullptr;
  const ErrorText error =
      take_error(torch_slots().tensor_from_buffer(process_host().ctx, &buffer, nullptr, nullptr, &raw));
  if (error.code != 0) throw Error("plugins check: no tensor could be made: " + error.message);
  return TensorHandle(raw);
}

void exercise_optimizer(InstanceSpec spec) {
  const LoadedPlugin& plugin = *spec.plugin;
  std::array<float, 16> weights{};
  std::array<float, 16> gradients{};
  weights.fill(0.5F);
  gradients.fill(0.25F);
  const TensorHandle weight = tensor_over(weights);
  const TensorHandle gradient = tensor_over(gradients);
  Optimizer optimizer(std::move(spec));
  ModelParameter parameter;
  parameter.name = "weight";
  parameter.role = STC_ROLE_LINEAR;
  parameter.tensor = weight.get();
  optimizer.bind({&parameter}, {0}, {OptimizerGroup{}});
  optimizer.set_mode(STC_MODE_TRAIN);
  stc_step_info info{};
  info.struct_size = sizeof info;
  info.lr = 1e-3;
  info.grad_factor = 1.0;
  optimizer.step(info, {gradient.get()});
  for (const float value : weights) {
    if (!std::isfinite(value)) broke(plugin, "step made a weight of 0.5 with gradient 0.25 not finite");
  }
  info.step = 1;
  const std::array<float, 16> before = weights;
  optimizer.step(info, {nullptr});  // no gradient in this window: nothing may change
  if (weights != before) broke(plugin, "step changed a parameter that had no gradient");
  optimizer.reset();
}

std::function<void(InstanceSpec)> exercise_of(int kind) {
  switch (kind) {
    case STC_KIND_TOKENIZER: return exercise_tokenizer;
    case STC_KIND_PRECISION: return exercise_precision;
    case STC_KIND_SINK: return exercise_sink;
    case STC_KIND_DATASET: return exercise_dataset;
    case STC_KIND_MODEL: return exercise_model;
    case STC_KIND_OPTIMIZER: return exercise_optimizer;
    default: return {};  // sync, coordinator, collective meet other nodes: created and destroyed only
  }
}

}  // namespace

std::string exercise(const LoadedPlugin& plugin, RunContext& context, CheckReport& report) {
  std::vector<std::string> missing;
  const Value section = default_section(plugin.declaration, missing);
  if (!missing.empty()) return "not created: it requires " + join(missing);
  for (int round = 0; round < 2; ++round) {
    const std::string refused = create_and_destroy(plugin, context, section, report);
    if (!refused.empty()) return "not created with its defaults: " + refused;
  }
  const std::function<void(InstanceSpec)> states = exercise_of(plugin.declaration.kind);
  if (!states) return "created and destroyed";
  report.begin(label(plugin) + ": going through its states");
  InstanceSpec spec;
  spec.plugin = &plugin;
  spec.section = section;
  spec.section_name = kind_name(plugin.declaration.kind);
  spec.context = &context;
  states(std::move(spec));
  return "created, taken through its states, destroyed";
}

}  // namespace stc::host
