#include "host/train/model.hpp"

#include <unordered_set>

#include <ATen/Context.h>

#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

/// The writer that a model puts its outputs into. A handle passes to the host in any case.
struct OutputCollector {
  explicit OutputCollector(ModelOutputs& into) : outputs(into) {
    writer.struct_size = sizeof(writer);
    writer.ctx = this;
    writer.put = &put;
  }
  static stc_error* put(void* ctx, const char* name, stc_tensor raw) noexcept try {
    TensorHandle handle(raw);
    if (name == nullptr || raw == nullptr) {
      return make_error(STC_ERROR_INVALID_ARGUMENT, "output: a name and a tensor are needed");
    }
    ModelOutputs& outputs = static_cast<OutputCollector*>(ctx)->outputs;
    if (outputs.find(name) != nullptr) {
      return make_error(STC_ERROR_CONFLICT, std::string("output ") + name + ": put twice");
    }
    outputs.items.emplace_back(name, std::move(handle));
    return nullptr;
  } catch (const std::exception& error) {
    return make_error(STC_ERROR_INTERNAL, error.what());
  }

  ModelOutputs& outputs;
  stc_output_writer writer{};
};

struct InputList {
  explicit InputList(const std::vector<NamedHandle>& inputs) {
    items.reserve(inputs.size());
    for (const NamedHandle& input : inputs) items.push_back({input.name.c_str(), input.tensor});
    list = {items.data(), items.size()};
  }
  std::vector<stc_named_tensor> items;
  stc_tensor_list list{};
};

ModelParameter read_parameter(const stc_parameter& item) {
  ModelParameter parameter;
  parameter.name = item.name != nullptr ? item.name : "";
  for (const char* const* alias = item.aliases; alias != nullptr && *alias != nullptr; ++alias) {
    parameter.aliases.emplace_back(*alias);
  }
  parameter.role = item.role;
  parameter.trainable = item.trainable != 0;
  parameter.tensor = item.tensor;
  return parameter;
}

}  // namespace

stc_tensor ModelOutputs::find(const std::string& name) const {
  for (const auto& [key, handle] : items) {
    if (key == name) return handle.get();
  }
  return nullptr;
}

Model::Model(InstanceSpec spec) : Instance(std::move(spec)) {
  // A model without an init slot draws its weights in create, from LibTorch's own generators.
  at::manual_seed(host()->rng_seed(host()->ctx, "init"));
  call("create", [&] { return api<stc_model_api>().create(host(), section(), &raw_); });
  if (raw_ == nullptr) throw PluginError("plugin " + this->name() + " (model): create: returned no instance");
}

Model::~Model() {
  if (raw_ != nullptr) api<stc_model_api>().destroy(raw_);
}

void Model::init(uint64_t seed) {
  if (api<stc_model_api>().init != nullptr) {
    call("init", [&] { return api<stc_model_api>().init(raw_, seed); });
  }
}

const std::vector<ModelParameter>& Model::parameters() const {
  if (!listed_) read_parameters();
  return parameters_;
}

void Model::read_parameters() const {
  stc_parameter_list list{};
  list.struct_size = sizeof(list);
  call("parameters", [&] { return api<stc_model_api>().parameters(raw_, &list); });
  const std::string who = "plugin " + name() + " (model): parameters: ";
  if (list.count > 0 && (list.items == nullptr || list.stride < STC_SIZE_TO_END(stc_parameter, trainable))) {
    throw PluginError(who + "stride " + std::to_string(list.stride) + " is smaller than one entry");
  }
  std::unordered_set<std::string> names;
  parameters_.clear();
  for (uint64_t i = 0; i < list.count; ++i) {
    const auto* item =
        reinterpret_cast<const stc_parameter*>(reinterpret_cast<const char*>(list.items) + i * list.stride);
    ModelParameter parameter = read_parameter(*item);
    if (parameter.name.empty()) throw PluginError(who + "entry " + std::to_string(i) + " has no name");
    if (parameter.tensor == nullptr) throw PluginError(who + parameter.name + " has no tensor");
    if (!names.insert(parameter.name).second) throw PluginError(who + "two entries are named " + parameter.name);
    for (const std::string& alias : parameter.aliases) {
      if (!names.insert(alias).second) throw PluginError(who + "two entries are named " + alias);
    }
    const at::Tensor& tensor = to_tensor(parameter.tensor);
    if (parameter.trainable && !tensor.is_floating_point()) {
      throw PluginError(who + parameter.name + " is trainable and has dtype " + c10::toString(tensor.scalar_type()) +
                        ", needs a floating-point type");
    }
    parameters_.push_back(std::move(parameter));
  }
  listed_ = true;
}

std::vector<NamedHandle> Model::buffers() {
  std::vector<NamedHandle> out;
  if (api<stc_model_api>().buffers == nullptr) return out;
  stc_tensor_list list{};
  call("buffers", [&] { return api<stc_model_api>().buffers(raw_, &list); });
  for (uint64_t i = 0; i < list.count; ++i) {
    const stc_named_tensor& item = list.items[i];
    if (item.name == nullptr || item.tensor == nullptr) {
      throw PluginError("plugin " + name() + " (model): buffers: entry " + std::to_string(i) +
                        " has no name or no tensor");
    }
    out.push_back({item.name, item.tensor});
  }
  return out;
}

stc_tensor Model::gradient(size_t index) {
  if (api<stc_model_api>().gradient == nullptr) return nullptr;
  stc_tensor out = nullptr;
  call("gradient", [&] { return api<stc_model_api>().gradient(raw_, index, &out); });
  return out;
}

ModelOutputs Model::forward(const stc_pass_info& info, const std::vector<NamedHandle>& inputs) {
  ModelOutputs outputs;
  OutputCollector collector(outputs);
  const InputList list(inputs);
  call("forward", [&] { return api<stc_model_api>().forward(raw_, &info, &list.list, &collector.writer); });
  return outputs;
}

bool Model::has_loss_and_grad() const { return api<stc_model_api>().loss_and_grad != nullptr; }

TensorHandle Model::loss_and_grad(const stc_pass_info& info, const std::vector<NamedHandle>& inputs, ModelOutputs& aux,
                                  std::string& reason) {
  stc_tensor raw = nullptr;
  OutputCollector collector(aux);
  const InputList list(inputs);
  bool handed_back = false;
  call("loss_and_grad", [&]() -> stc_error* {
    stc_error* error = api<stc_model_api>().loss_and_grad(raw_, &info, &list.list, &raw, &collector.writer, nullptr);
    if (error == nullptr) return nullptr;
    ErrorText text = take_error(error);
    if (text.code != STC_ERROR_UNSUPPORTED) return make_error(text.code, text.message, text.key);
    reason = text.message;
    handed_back = true;
    return nullptr;
  });
  TensorHandle loss(raw);
  if (handed_back) {
    aux.items.clear();
    return TensorHandle();
  }
  if (!loss) throw PluginError("plugin " + name() + " (model): loss_and_grad: returned no loss");
  return loss;
}

bool Model::has_own_kernels(int32_t device_type, int32_t dtype) const {
  const auto get_extension = plugin().plugin->get_extension;
  if (get_extension == nullptr) return false;
  return call("own_kernels", [&] {
    const auto* own = static_cast<const stc_model_own_kernels*>(get_extension(STC_MODEL_OWN_KERNELS));
    return own != nullptr && own->struct_size >= STC_SIZE_TO_END(stc_model_own_kernels, computes) &&
           own->computes(device_type, dtype) != 0;
  });
}

void Model::parameters_changed() {
  if (api<stc_model_api>().parameters_changed == nullptr) return;
  call("parameters_changed", [&] { api<stc_model_api>().parameters_changed(raw_); });
}

bool Model::set_gradient_checkpointing(bool enabled, std::string& reason) {
  if (api<stc_model_api>().set_gradient_checkpointing == nullptr) {
    reason = "model " + name() + " has no gradient checkpointing";
    return false;
  }
  bool able = true;
  call("set_gradient_checkpointing", [&]() -> stc_error* {
    stc_error* error = api<stc_model_api>().set_gradient_checkpointing(raw_, enabled ? 1 : 0);
    if (error == nullptr) return nullptr;
    ErrorText text = take_error(error);
    if (text.code != STC_ERROR_UNSUPPORTED) return make_error(text.code, text.message, text.key);
    reason = text.message;
    able = false;
    return nullptr;
  });
  return able;
}

void Model::set_training(bool training) {
  if (api<stc_model_api>().set_training == nullptr) return;
  call("set_training", [&] { api<stc_model_api>().set_training(raw_, training ? 1 : 0); });
}

std::vector<std::pair<std::string, int64_t>> Model::dimensions() {
  std::vector<std::pair<std::string, int64_t>> out;
  if (api<stc_model_api>().dimensions == nullptr) return out;
  const stc_dimension* items = nullptr;
  uint32_t count = 0;
  uint32_t stride = 0;
  call("dimensions", [&] { return api<stc_model_api>().dimensions(raw_, &items, &count, &stride); });
  if (count > 0 && (items == nullptr || stride < STC_SIZE_TO_END(stc_dimension, size))) {
    throw PluginError("plugin " + name() + " (model): dimensions: stride " + std::to_string(stride) +
                      " is smaller than one entry");
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto* item =
        reinterpret_cast<const stc_dimension*>(reinterpret_cast<const char*>(items) + size_t{i} * stride);
    out.emplace_back(item->name, item->size);
  }
  return out;
}

std::vector<std::string> Model::stages() {
  if (api<stc_model_api>().stages == nullptr) return {};
  const char* const* names = nullptr;
  uint32_t count = 0;
  call("stages", [&] { return api<stc_model_api>().stages(raw_, &names, &count); });
  if (count > 0 && names == nullptr) throw PluginError("plugin " + name() + " (model): stages: gave no names");
  return {names, names + count};
}

bool Model::has_generate() const {
  const auto& table = api<stc_model_api>();
  return table.generate_begin != nullptr && table.generate_step != nullptr && table.generate_end != nullptr;
}

stc_cache* Model::generate_begin(int64_t rows, int64_t max_length) {
  stc_cache* cache = nullptr;
  call("generate_begin", [&] { return api<stc_model_api>().generate_begin(raw_, rows, max_length, &cache); });
  return cache;
}

TensorHandle Model::generate_step(stc_cache* cache, stc_tensor ids) {
  stc_tensor logits = nullptr;
  call("generate_step", [&] { return api<stc_model_api>().generate_step(raw_, cache, ids, &logits); });
  if (logits == nullptr) throw PluginError("plugin " + name() + " (model): generate_step: returned no logits");
  return TensorHandle(logits);
}

void Model::generate_end(stc_cache* cache) {
  call("generate_end", [&] { api<stc_model_api>().generate_end(raw_, cache); });
}

}  // namespace stc::host
