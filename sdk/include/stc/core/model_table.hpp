/// \file
/// From a C++ model class to the C table stc_model_api, for the levels stable and exact. Authors
/// include stc/stable/model.hpp or stc/exact/model.hpp instead.
///
/// A Level provides: Tensor; from_borrowed(handle); borrow(tensor), a handle that lives as long as
/// the tensor object, null when undefined; release(tensor), a handle that the host owns; identity;
/// rank; requires_grad.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stc/abi/model.h"
#include "stc/core/instance.hpp"
#include "stc/core/model_roles.hpp"
#include "stc/core/model_types.hpp"
#include "stc/core/tensor_state.hpp"

namespace stc {

/// What the table needs to know about a model class M; each optional member is found by presence.
template <class M, class L>
struct ModelTraits {
  using Tensor = typename L::Tensor;
  using Parameter = BasicParameter<Tensor>;
  using Buffer = BasicBuffer<Tensor>;
  using Inputs = BasicInputs<Tensor>;
  using Outputs = BasicOutputs<Tensor>;
  using Writer = BasicStateWriter<L>;
  using Reader = BasicStateReader<L>;

  static constexpr bool kParameters = requires(M & m) {
    { m.parameters() } -> std::convertible_to<std::vector<Parameter>>;
  };
  static constexpr bool kNamedParameters = requires(M & m) { m.named_parameters(); };
  static constexpr bool kForwardPass = requires(M & m, const Pass& p, const Inputs& i) {
    { m.forward(p, i) } -> std::convertible_to<Outputs>;
  };
  static constexpr bool kForwardInputs = requires(M & m, const Inputs& i) {
    { m.forward(i) } -> std::convertible_to<Outputs>;
  };
  static constexpr bool kForwardTensor = requires(M & m, const Tensor& t) {
    { m.forward(t) } -> std::convertible_to<Tensor>;
  };
  static constexpr bool kLoss = requires(M & m, const Tensor& t) {
    { m.loss(t, t) } -> std::convertible_to<Tensor>;
  };
  static constexpr bool kInit = requires(M & m) { m.init(uint64_t{}); };
  static constexpr bool kBuffers = requires(M & m) {
    { m.buffers() } -> std::convertible_to<std::vector<Buffer>>;
  };
  static constexpr bool kNamedBuffers = requires(M & m) { m.named_buffers(); };
  static constexpr bool kGradient = requires(M & m) {
    { m.gradient(size_t{}) } -> std::convertible_to<Tensor>;
  };
  static constexpr bool kLossAndGrad =
      requires(M & m, const Pass& p, const Inputs& i, Outputs& o, const GradientReady& r) {
    { m.loss_and_grad(p, i, o, r) } -> std::convertible_to<Tensor>;
  };
  static constexpr bool kParametersChanged = requires(M & m) { m.parameters_changed(); };
  static constexpr bool kGradientCheckpointing = requires(M & m) { m.set_gradient_checkpointing(true); };
  static constexpr bool kSetTraining = requires(M & m) { m.set_training(true); };
  static constexpr bool kTrain = requires(M & m) { m.train(true); };
  static constexpr bool kStages = requires(M & m) {
    { m.stages() } -> std::convertible_to<std::vector<std::string>>;
  };
  static constexpr bool kDimensions = requires(M & m) {
    { m.dimensions() } -> std::convertible_to<std::vector<std::pair<std::string, int64_t>>>;
  };
  static constexpr bool kGenerate = requires(M & m) { m.generate_begin(int64_t{}, int64_t{}); };
  static constexpr bool kSave = requires(M & m, Writer& w) { m.save(w); };
  static constexpr bool kLoad = requires(M & m, Reader& r) { m.load(r); };

  static_assert(kParameters || kNamedParameters,
                "a model needs parameters() -> std::vector<Parameter>, or the named_parameters() of a module");
  static_assert(kForwardPass || kForwardInputs || kForwardTensor,
                "a model needs forward(const Pass&, const Inputs&) -> Outputs, forward(const Inputs&) -> "
                "Outputs, or forward(const Tensor&) -> Tensor");
  static_assert(kSave == kLoad, "a model has both save(StateWriter&) and load(StateReader&), or neither");
};

/// What the table keeps beside the author's object: the lists that it lends to the host.
template <class M, class L>
struct ModelExtra {
  using Traits = ModelTraits<M, L>;
  using Tensor = typename L::Tensor;
  using Parameter = typename Traits::Parameter;

  bool listed = false;
  std::vector<Parameter> parameters;
  std::vector<std::vector<const char*>> aliases;
  std::vector<stc_parameter> parameter_items;
  std::vector<typename Traits::Buffer> buffers;
  std::vector<stc_named_tensor> buffer_items;
  std::vector<Tensor> gradients;
  std::vector<std::string> stages;
  std::vector<const char*> stage_items;
  std::vector<std::pair<std::string, int64_t>> dimensions;
  std::vector<stc_dimension> dimension_items;

  /// Reads the model's list once; later calls answer with the same storage.
  void list_parameters(M& model) {
    if (listed) return;
    if constexpr (Traits::kParameters) {
      parameters = model.parameters();
    } else {
      parameters = named_parameters(model);
    }
    aliases.resize(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[i];
      for (const std::string& alias : p.aliases) aliases[i].push_back(alias.c_str());
      aliases[i].push_back(nullptr);
      stc_parameter item{};
      item.struct_size = STC_SIZE_TO_END(stc_parameter, reserved);
      item.role = p.role;
      item.name = p.name.c_str();
      item.aliases = aliases[i].data();
      item.tensor = L::borrow(p.tensor);
      item.trainable = p.trainable ? 1 : 0;
      parameter_items.push_back(item);
    }
    gradients.resize(parameters.size());
    listed = true;
  }

  /// The parameters of a module in its order; a tensor met again becomes an alias of the first.
  static std::vector<Parameter> named_parameters(M& model) {
    std::map<std::string, std::string> types = module_types(model);
    std::map<const void*, size_t> seen;
    std::vector<Parameter> out;
    auto add = [&](const std::string& name, const Tensor& tensor) {
      auto [at, fresh] = seen.emplace(L::identity(tensor), out.size());
      if (!fresh) {
        out[at->second].aliases.push_back(name);
        return;
      }
      size_t dot = name.rfind('.');
      const std::string owner = dot == std::string::npos ? std::string() : name.substr(0, dot);
      out.push_back({name, tensor, guess_role(name, L::rank(tensor), types[owner]), {}, L::requires_grad(tensor)});
    };
    visit_named(model.named_parameters(), add);
    return out;
  }

  /// Name of each submodule -> name of its type, for a class derived from torch::nn::Module.
  static std::map<std::string, std::string> module_types(M& model) {
    std::map<std::string, std::string> out;
    if constexpr (requires { model.named_modules(std::string(), false); }) {
      for (const auto& item : model.named_modules(std::string(), false)) out[item.key()] = item.value()->name();
    }
    return out;
  }

  /// For LibTorch's OrderedDict and for pairs.
  template <class Items, class F>
  static void visit_named(const Items& items, F&& add) {
    for (const auto& item : items) {
      if constexpr (requires { item.key(); }) {
        add(item.key(), item.value());
      } else {
        add(item.first, item.second);
      }
    }
  }

  static typename Traits::Outputs forward(M& model, const Pass& pass, const typename Traits::Inputs& inputs) {
    if constexpr (Traits::kForwardPass) {
      return model.forward(pass, inputs);
    } else if constexpr (Traits::kForwardInputs) {
      return model.forward(inputs);
    } else {
      return forward_tensor(model, inputs);
    }
  }

  /// The simple form: the batch's input goes in; the result is a loss when the model has loss(output,
  /// labels) and the batch has labels, logits when there are labels only, else itself the loss.
  static typename Traits::Outputs forward_tensor(M& model, const typename Traits::Inputs& inputs) {
    const Tensor* input = inputs.find("input_ids");
    if (input == nullptr) input = inputs.find("inputs");
    for (auto item = inputs.begin(); input == nullptr && item != inputs.end(); ++item) {
      if (item->name != "labels" && item->name != "attention_mask") input = &item->tensor;
    }
    if (input == nullptr) throw Fault(STC_ERROR_INVALID_ARGUMENT, "the batch has no field besides labels");
    Tensor output = model.forward(*input);
    const Tensor* labels = inputs.find("labels");
    typename Traits::Outputs outputs;
    if constexpr (Traits::kLoss) {
      if (labels != nullptr) {
        outputs.put("loss", model.loss(output, *labels));
        return outputs;
      }
    }
    outputs.put(labels != nullptr && L::rank(output) >= 2 ? "logits" : "loss", std::move(output));
    return outputs;
  }

  /// Hands the outputs over one by one; a refused one stays ours and is freed with the rest.
  static void write(const Host& host, typename Traits::Outputs outputs, const stc_output_writer* writer) {
    for (auto& [name, tensor] : outputs.items()) {
      if (L::borrow(tensor) == nullptr) {
        throw Fault(STC_ERROR_INTERNAL, "output " + name + " is an undefined tensor");
      }
      if (writer == nullptr) continue;
      host.check(writer->put(writer->ctx, name.c_str(), L::release(std::move(tensor))));
    }
  }

  static typename Traits::Inputs inputs(const stc_tensor_list* list) {
    typename Traits::Inputs out;
    for (uint64_t i = 0; i < list->count; ++i) {
      out.add(list->items[i].name, L::from_borrowed(list->items[i].tensor));
    }
    return out;
  }
};

/// The slots of stc_model_api for model class M.
template <class M, class L>
struct ModelSlots : detail::Slots<M, stc_model, ModelExtra<M, L>> {
  using Traits = ModelTraits<M, L>;
  using Extra = ModelExtra<M, L>;
  using Base = detail::Slots<M, stc_model, Extra>;
  using Box = typename Base::BoxType;
  using Tensor = typename L::Tensor;

  template <class F>
  static stc_error* run(stc_model* self, F&& body) noexcept {
    Box& in = Base::box(self);
    return detail::guarded(in.table, [&] { body(in); });
  }
  template <class F>
  static void run_void(stc_model* self, const char* slot, F&& body) noexcept {
    Box& in = Base::box(self);
    detail::guarded_void(in.table, slot, [&] { body(in); });
  }

  static stc_error* init(stc_model* self, uint64_t seed) noexcept {
    return run(self, [&](Box& in) { in.object.init(seed); });
  }
  static stc_error* parameters(stc_model* self, stc_parameter_list* out) noexcept {
    return run(self, [&](Box& in) {
      in.extra.list_parameters(in.object);
      out->stride = sizeof(stc_parameter);
      out->items = in.extra.parameter_items.data();
      out->count = in.extra.parameter_items.size();
    });
  }
  static stc_error* buffers(stc_model* self, stc_tensor_list* out) noexcept {
    return run(self, [&](Box& in) {
      if (in.extra.buffers.empty()) {
        if constexpr (Traits::kBuffers) {
          in.extra.buffers = in.object.buffers();
        } else {
          Extra::visit_named(in.object.named_buffers(), [&](const std::string& name, const Tensor& tensor) {
            in.extra.buffers.push_back({name, tensor});
          });
        }
        for (const auto& buffer : in.extra.buffers) {
          in.extra.buffer_items.push_back({buffer.name.c_str(), L::borrow(buffer.tensor)});
        }
      }
      *out = {in.extra.buffer_items.data(), in.extra.buffer_items.size()};
    });
  }
  static stc_error* gradient(stc_model* self, uint64_t index, stc_tensor* out) noexcept {
    return run(self, [&](Box& in) {
      in.extra.list_parameters(in.object);
      Tensor& kept = in.extra.gradients.at(index);
      if (L::borrow(kept) == nullptr) kept = in.object.gradient(index);
      *out = L::borrow(kept);
    });
  }
  static stc_error* forward(stc_model* self, const stc_pass_info* info, const stc_tensor_list* inputs,
                            const stc_output_writer* outputs) noexcept {
    return run(self, [&](Box& in) {
      Extra::write(in.host(), Extra::forward(in.object, Pass(*info), Extra::inputs(inputs)), outputs);
    });
  }
  static stc_error* loss_and_grad(stc_model* self, const stc_pass_info* info, const stc_tensor_list* inputs,
                                  stc_tensor* loss, const stc_output_writer* aux,
                                  const stc_gradient_ready* ready) noexcept {
    return run(self, [&](Box& in) {
      typename Traits::Outputs extra;
      Tensor value = in.object.loss_and_grad(Pass(*info), Extra::inputs(inputs), extra, GradientReady(ready));
      Extra::write(in.host(), std::move(extra), aux);
      *loss = L::release(std::move(value));
    });
  }
  static void parameters_changed(stc_model* self) noexcept {
    run_void(self, "parameters_changed", [](Box& in) { in.object.parameters_changed(); });
  }
  static stc_error* set_gradient_checkpointing(stc_model* self, int32_t enabled) noexcept {
    return run(self, [&](Box& in) { in.object.set_gradient_checkpointing(enabled != 0); });
  }
  static void set_training(stc_model* self, int32_t training) noexcept {
    run_void(self, "set_training", [&](Box& in) {
      if constexpr (Traits::kSetTraining) {
        in.object.set_training(training != 0);
      } else {
        in.object.train(training != 0);
      }
    });
  }
  static stc_error* stages(stc_model* self, const char* const** names, uint32_t* count) noexcept {
    return run(self, [&](Box& in) {
      if (in.extra.stage_items.empty()) {
        in.extra.stages = in.object.stages();
        for (const std::string& stage : in.extra.stages) in.extra.stage_items.push_back(stage.c_str());
      }
      *names = in.extra.stage_items.data();
      *count = static_cast<uint32_t>(in.extra.stage_items.size());
    });
  }
  static stc_error* dimensions(stc_model* self, const stc_dimension** items, uint32_t* count,
                               uint32_t* stride) noexcept {
    return run(self, [&](Box& in) {
      if (in.extra.dimension_items.empty()) {
        in.extra.dimensions = in.object.dimensions();
        for (const auto& [name, size] : in.extra.dimensions) {
          in.extra.dimension_items.push_back({STC_SIZE_TO_END(stc_dimension, size), 0, name.c_str(), size});
        }
      }
      *items = in.extra.dimension_items.data();
      *count = static_cast<uint32_t>(in.extra.dimension_items.size());
      *stride = sizeof(stc_dimension);
    });
  }
  static stc_error* state_save(stc_model* self, const stc_state_writer* writer) noexcept {
    return run(self, [&](Box& in) {
      typename Traits::Writer out(in.host(), *writer);
      in.object.save(out);
    });
  }
  static stc_error* state_load(stc_model* self, const stc_state_reader* reader) noexcept {
    return run(self, [&](Box& in) {
      typename Traits::Reader source(in.host(), *reader);
      in.object.load(source);
    });
  }

  /// Generation: generate_begin(rows, max_length) returns a std::unique_ptr to the model's own cache.
  static stc_error* generate_begin(stc_model* self, int64_t rows, int64_t max_length, stc_cache** out) noexcept {
    return run(self, [&](Box& in) {
      auto cache = in.object.generate_begin(rows, max_length);
      *out = reinterpret_cast<stc_cache*>(cache.release());
    });
  }
  static stc_error* generate_step(stc_model* self, stc_cache* raw, stc_tensor ids, stc_tensor* logits) noexcept {
    return run(self, [&](Box& in) {
      auto* cache = reinterpret_cast<CacheOf<M>*>(raw);
      Tensor value = in.object.generate_step(*cache, L::from_borrowed(ids));
      *logits = L::release(std::move(value));
    });
  }
  static void generate_end(stc_model* self, stc_cache* raw) noexcept {
    run_void(self, "generate_end", [&](Box& in) {
      std::unique_ptr<CacheOf<M>> cache(reinterpret_cast<CacheOf<M>*>(raw));
      if constexpr (requires { in.object.generate_end(*cache); }) in.object.generate_end(*cache);
    });
  }
  template <class Model>
  using CacheOf = typename decltype(std::declval<Model&>().generate_begin(int64_t{}, int64_t{}))::element_type;

  static constexpr stc_model_api make() {
    stc_model_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_model_api, state_load);
    api.create = &Base::create;
    api.destroy = &Base::destroy;
    api.parameters = &parameters;
    api.forward = &forward;
    if constexpr (Traits::kInit) api.init = &init;
    if constexpr (Traits::kBuffers || Traits::kNamedBuffers) api.buffers = &buffers;
    if constexpr (Traits::kGradient) api.gradient = &gradient;
    if constexpr (Traits::kLossAndGrad) api.loss_and_grad = &loss_and_grad;
    if constexpr (Traits::kParametersChanged) api.parameters_changed = &parameters_changed;
    if constexpr (Traits::kGradientCheckpointing) api.set_gradient_checkpointing = &set_gradient_checkpointing;
    if constexpr (Traits::kSetTraining || Traits::kTrain) api.set_training = &set_training;
    if constexpr (Traits::kStages) api.stages = &stages;
    if constexpr (Traits::kDimensions) api.dimensions = &dimensions;
    if constexpr (Traits::kGenerate) {
      api.generate_begin = &generate_begin;
      api.generate_step = &generate_step;
      api.generate_end = &generate_end;
    }
    if constexpr (Traits::kSave) {
      api.state_save = &state_save;
      api.state_load = &state_load;
    }
    return api;
  }
  static constexpr stc_model_api kTable = make();
};

}  // namespace stc
