/// \file
/// Conformance of models, of level stable or exact; the test itself is of level exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "stc/testing/subject.hpp"
#include "stc/testing/torch_host.hpp"

namespace stc::testing {

using ModelInstance = Instance<stc_model_api, stc_model>;

struct ModelCase {
  Section config;
  /// The fields of a batch, by name. \param seed another seed, another batch of equal shapes.
  std::function<std::vector<std::pair<std::string, at::Tensor>>(uint64_t seed)> batch;
  /// How far loss_and_grad may be from forward and autograd.
  double rtol = 1e-4;
  double atol = 1e-6;
};

namespace detail {

/// What a pass put out; the tensors are owned here.
class Outputs {
 public:
  Outputs() {
    writer_.struct_size = STC_SIZE_TO_END(stc_output_writer, put);
    writer_.ctx = this;
    writer_.put = [](void* ctx, const char* name, stc_tensor tensor) -> stc_error* {
      auto& self = *static_cast<Outputs*>(ctx);
      self.repeated = self.repeated || self.tensors.count(name) != 0;
      self.tensors[name] = as_tensor(tensor);
      delete &as_tensor(tensor);
      return nullptr;
    };
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  const stc_output_writer* writer() const { return &writer_; }
  std::map<std::string, at::Tensor> tensors;
  bool repeated = false;

 private:
  stc_output_writer writer_{};
};

/// A model after init, and calls of its slots.
class LiveModel {
 public:
  LiveModel(TorchHost& host, const Subject& subject, const ModelCase& given, uint64_t seed = 11)
      : model(subject, host, given.config), given_(given) {
    if (!model.error() && model.api().init != nullptr) {
      init_error = model.call(model.api().init, seed);
    }
    if (!model.error()) {
      parameters = read_parameters();
    }
  }
  struct Parameter {
    std::string name;
    at::Tensor tensor;
    bool trainable;
    std::vector<std::string> aliases;
  };
  std::vector<Parameter> read_parameters() {
    stc_parameter_list list{};
    list.struct_size = STC_SIZE_TO_END(stc_parameter_list, count);
    parameters_error = model.call(model.api().parameters, &list);
    std::vector<Parameter> out;
    for (uint64_t i = 0; !parameters_error && i < list.count; ++i) {
      const char* at = reinterpret_cast<const char*>(list.items) + i * list.stride;
      const auto raw = stc::detail::imported(reinterpret_cast<const stc_parameter*>(at));
      Parameter parameter{raw.name, as_tensor(raw.tensor), raw.trainable != 0, {}};
      for (const char* const* alias = raw.aliases; alias != nullptr && *alias != nullptr; ++alias) {
        parameter.aliases.emplace_back(*alias);
      }
      out.push_back(std::move(parameter));
    }
    return out;
  }
  stc_pass_info pass(bool accumulate = false, double weight = 1.0) const {
    stc_pass_info info{};
    info.struct_size = STC_SIZE_TO_END(stc_pass_info, weight);
    info.flags = STC_PASS_TRAINING | (accumulate ? STC_PASS_ACCUMULATE : 0);
    info.dropout_key = 42;
    info.weight = weight;
    return info;
  }
  /// With one input more, that no model knows.
  SlotError forward(uint64_t seed, Outputs& outputs, bool accumulate = false) const {
    return with_inputs(seed, [&](const stc_tensor_list* list) {
      const stc_pass_info info = pass(accumulate);
      return model.call(model.api().forward, &info, list, outputs.writer());
    });
  }
  SlotError loss_and_grad(uint64_t seed, at::Tensor& loss, bool accumulate = false, double weight = 1.0) const {
    return with_inputs(seed, [&](const stc_tensor_list* list) {
      Outputs aux;
      stc_tensor raw = nullptr;
      const stc_pass_info info = pass(accumulate, weight);
      const stc_gradient_ready ready{STC_SIZE_TO_END(stc_gradient_ready, ready), 0, nullptr,
                                     [](void*, const uint32_t*, uint32_t) {}};
      SlotError error = model.call(model.api().loss_and_grad, &info, list, &raw, aux.writer(), &ready);
      if (raw != nullptr) {
        loss = as_tensor(raw);
        delete &as_tensor(raw);
      }
      return error;
    });
  }
  /// The gradient buffer of parameter i when the model owns it, else undefined. Such a model makes
  /// it the parameter's .grad, so that autograd adds to it too.
  at::Tensor own_gradient(std::size_t i) const {
    stc_tensor own = nullptr;
    const bool has =
        model.api().gradient != nullptr && !model.call(model.api().gradient, uint64_t{i}, &own) && own != nullptr;
    return has ? as_tensor(own) : at::Tensor();
  }
  /// Copies of the gradients, wherever they are; undefined where there is none.
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> out;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor own = own_gradient(i);
      const at::Tensor gradient = own.defined() ? own : parameters[i].tensor.grad();
      out.push_back(gradient.defined() ? gradient.detach().clone() : at::Tensor());
    }
    return out;
  }
  /// As the host does at the start of a window: a model overwrites buffers of its own itself, in
  /// the first pass of the window.
  void clear_gradients() const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!own_gradient(i).defined()) {
        parameters[i].tensor.mutable_grad().reset();
      }
    }
  }
  /// A pass and its backward.
  SlotError forward_backward(uint64_t seed, at::Tensor& loss, bool accumulate = false) const;

  ModelInstance model;
  SlotError init_error, parameters_error;
  std::vector<Parameter> parameters;

 private:
  template <class Fn>
  SlotError with_inputs(uint64_t seed, Fn&& fn) const {
    auto batch = given_.batch(seed);
    batch.emplace_back("a field that no model knows", batch.front().second);
    std::vector<stc_named_tensor> items;
    for (auto& [name, tensor] : batch) {
      items.push_back({name.c_str(), as_handle(tensor)});
    }
    const stc_tensor_list list{items.data(), items.size()};
    return fn(&list);
  }
  const ModelCase& given_;
};

/// The loss of a pass, or a scalar made of its logits.
inline at::Tensor scalar_of(const Outputs& outputs) {
  const auto loss = outputs.tensors.find("loss");
  if (loss != outputs.tensors.end()) {
    return loss->second;
  }
  const auto logits = outputs.tensors.find("logits");
  return logits == outputs.tensors.end() ? at::Tensor() : logits->second.square().mean();
}

inline void check_parameters(Report& report, LiveModel& live) {
  report.context("parameters");
  report.expect(!live.parameters_error && !live.parameters.empty(), "has none: " + live.parameters_error.message);
  std::set<std::string> names;
  std::set<const void*> storages;
  for (const auto& parameter : live.parameters) {
    report.expect(names.insert(parameter.name).second, parameter.name + " is listed twice");
    for (const std::string& alias : parameter.aliases) {
      report.expect(names.insert(alias).second, alias + " is listed twice");
    }
    report.expect(parameter.tensor.defined() && parameter.tensor.numel() > 0, parameter.name + " is empty");
    report.expect(storages.insert(parameter.tensor.data_ptr()).second,
                  parameter.name + " is a tied tensor listed twice, expected an alias");
    report.expect(!parameter.trainable || parameter.tensor.requires_grad(),
                  parameter.name + " is trainable and does not require a gradient");
  }
  const auto again = live.read_parameters();
  bool same = again.size() == live.parameters.size();
  for (std::size_t i = 0; same && i < again.size(); ++i) {
    same =
        again[i].name == live.parameters[i].name && again[i].tensor.data_ptr() == live.parameters[i].tensor.data_ptr();
  }
  report.expect(same, "the list differs at the second call");
}

inline void check_forward(Report& report, TorchHost& host, const Subject& subject, const ModelCase& given,
                          LiveModel& live) {
  report.context("forward");
  Outputs outputs, again, other;
  SlotError error = live.forward(1, outputs);
  if (!report.expect(!error, error.message) || !report.expect(!outputs.repeated, "a name is put out twice")) {
    return;
  }
  const at::Tensor result = scalar_of(outputs);
  if (!report.expect(result.defined(), "puts out neither loss nor logits")) {
    return;
  }
  report.expect(result.dim() == 0 && std::isfinite(result.item<double>()), "the loss is not one finite number");
  report.expect(!live.forward(1, again) && same_bits(scalar_of(again), result), "the same pass gives another result");
  report.expect(!live.forward(2, other) && !same_bits(scalar_of(other), result), "another batch gives the same result");
  report.context("init");
  LiveModel twin(host, subject, given), changed(host, subject, given, 12);
  bool equal = true, differs = live.model.api().init == nullptr;
  for (std::size_t i = 0; i < live.parameters.size(); ++i) {
    equal = equal && same_bits(live.parameters[i].tensor, twin.parameters[i].tensor);
    differs = differs || !same_bits(live.parameters[i].tensor, changed.parameters[i].tensor);
  }
  report.expect(live.model.api().init == nullptr || equal, "equal seeds give different weights");
  report.expect(differs, "another seed gives the same weights");
}

inline SlotError LiveModel::forward_backward(uint64_t seed, at::Tensor& loss, bool accumulate) const {
  if (!accumulate) {
    clear_gradients();
  }
  Outputs outputs;
  const SlotError error = forward(seed, outputs, accumulate);
  loss = scalar_of(outputs);
  if (!error && loss.defined() && loss.requires_grad()) {
    loss.backward();
  }
  return error;
}

inline void check_gradients(Report& report, LiveModel& live, const ModelCase& given) {
  report.context("backward");
  at::Tensor loss, again;
  live.forward_backward(1, loss);
  if (!report.expect(loss.defined() && loss.requires_grad(), "the result does not reach the parameters")) {
    return;
  }
  const std::vector<at::Tensor> expected = live.gradients();
  const bool some = std::any_of(expected.begin(), expected.end(),
                                [](const at::Tensor& g) { return g.defined() && g.any().item<bool>(); });
  report.expect(some, "every gradient is zero");
  const auto near = [&](const at::Tensor& a, const at::Tensor& b) {
    return a.sub(b).abs().le(b.abs().mul(given.rtol).add(given.atol)).all().item<bool>();
  };
  const auto compare = [&](double times, const char* what) {
    const std::vector<at::Tensor> got = live.gradients();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (expected[i].defined()) {
        report.expect(got[i].defined() && near(got[i], expected[i].mul(times)),
                      live.parameters[i].name + ": its gradient " + what);
      }
    }
  };
  live.forward_backward(1, again);
  compare(1, "is not that of the new window alone");
  live.forward_backward(1, again, true);
  compare(2, "does not add up over the window");
  if (live.model.api().loss_and_grad == nullptr) {
    return;
  }
  report.context("loss_and_grad");
  at::Tensor fused;
  const SlotError error = live.loss_and_grad(1, fused);
  if (error.code == STC_ERROR_UNSUPPORTED) {
    report.expect(!error.message.empty(), "UNSUPPORTED without the reason");
    return;
  }
  if (!report.expect(!error && fused.defined() && near(fused, loss.detach()),
                     "its loss differs from that of forward")) {
    return;
  }
  compare(1, "differs from autograd's");
  live.loss_and_grad(1, fused, true, 0.5);
  report.expect(near(fused, loss.detach()), "the weight changes the loss");
  compare(1.5, "does not accumulate with the weight");
}

inline void check_model_state(Report& report, TorchHost& host, const Subject& subject, const ModelCase& given,
                              LiveModel& live) {
  report.context("state");
  if (live.model.api().state_save == nullptr) {
    return;
  }
  MemoryState state(host);
  LiveModel other(host, subject, given, 12);
  report.expect(!live.model.call(live.model.api().state_save, state.writer()), "state_save failed");
  report.expect(!other.model.call(other.model.api().state_load, state.reader()), "state_load failed");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < live.parameters.size(); ++i) {
    other.parameters[i].tensor.copy_(live.parameters[i].tensor);
  }
  if (other.model.api().parameters_changed != nullptr) {
    other.model.api().parameters_changed(other.model.get());
  }
  Outputs expected, got;
  report.expect(!live.forward(1, expected) && !other.forward(1, got) && same_bits(scalar_of(expected), scalar_of(got)),
                "equal weights and state give another result");
}

}  // namespace detail

/// Parameters are named once and keep their place; init and forward are functions of seed and pass;
/// unknown inputs are ignored; gradients arrive, and those of loss_and_grad agree with autograd and
/// accumulate.
inline Report check_model(const Subject& subject, const ModelCase& given) {
  Report report = check_declaration(subject);
  TorchHost host;
  {
    detail::LiveModel live(host, subject, given);
    report.context("create");
    if (!report.expect(!live.model.error() && !live.init_error, live.model.error().message + live.init_error.message)) {
      return report;
    }
    if (live.model.api().set_training != nullptr) {
      live.model.api().set_training(live.model.get(), 1);
    }
    detail::check_parameters(report, live);
    detail::check_forward(report, host, subject, given, live);
    detail::check_gradients(report, live, given);
    detail::check_model_state(report, host, subject, given, live);
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
