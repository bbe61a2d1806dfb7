/// \file
/// Plugins of the levels stable and exact under test, loaded and run as the host does it.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "host/plugins/registry.hpp"
#include "host/services/torch_services.hpp"
#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"
#include "host/train/plugin_state.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::test {

/// Folder of the built plugins.
inline std::string plugin_folder() {
  const char* folder = std::getenv("STC_TEST_PLUGINS");
  return folder != nullptr ? folder : "";
}

/// A registry with a run around it. Further folders or libraries come first.
class World {
 public:
  explicit World(std::vector<std::string> paths = {}) : registry_(prepared(std::move(paths))) {
    context.registry = &registry_;
    context.seed = 7;
  }
  host::InstanceSpec spec(int kind, const std::string& name, host::Value section) {
    host::InstanceSpec out;
    out.plugin = &registry_.load(kind, name);
    out.section = std::move(section);
    out.section_name = kind == STC_KIND_MODEL ? "model" : "optimizer";
    out.context = &context;
    return out;
  }
  host::Registry& registry() { return registry_; }
  host::RunContext context;

 private:
  static std::vector<std::string> prepared(std::vector<std::string> paths) {
    host::install_torch_services();
    paths.push_back(plugin_folder());
    return paths;
  }
  host::Registry registry_;
};

/// An optimizer with parameters p0, p1, ... of its own.
class Trained {
 public:
  Trained(World& world, const std::string& name, host::Value section, const std::vector<at::Tensor>& initial,
          std::vector<host::OptimizerGroup> groups = {{1.0, 0.1}}, std::vector<uint32_t> group = {},
          std::vector<int> roles = {})
      : optimizer(world.spec(STC_KIND_OPTIMIZER, name, std::move(section))) {
    for (const at::Tensor& tensor : initial) values.push_back(tensor.clone());
    bind(std::move(groups), std::move(group), std::move(roles));
  }
  /// Binds the tensors as they are, not copies.
  struct Borrow {};
  Trained(Borrow, World& world, const std::string& name, host::Value section, std::vector<at::Tensor> tensors,
          std::vector<int> roles = {})
      : optimizer(world.spec(STC_KIND_OPTIMIZER, name, std::move(section))), values(std::move(tensors)) {
    bind({{1.0, 0.1}}, {}, std::move(roles));
  }
  /// Undefined gradients are absent.
  void step(const std::vector<at::Tensor>& gradients, double lr = 1e-3, double grad_factor = 1.0) {
    stc_step_info info{};
    info.struct_size = sizeof info;
    info.lr = lr;
    info.step = steps++;
    info.grad_factor = grad_factor;
    step(info, gradients);
  }
  void step(const stc_step_info& info, const std::vector<at::Tensor>& gradients) {
    std::vector<stc_tensor> handles;
    for (const at::Tensor& gradient : gradients) handles.push_back(host::borrow_handle(gradient));
    optimizer.step(info, handles);
  }
  std::vector<host::HostTensor> save() {
    host::StateCollector collector;
    optimizer.state_save(collector.writer());
    return collector.take_tensors();
  }
  void load(const std::vector<host::HostTensor>& state) {
    const host::StateProvider provider(state, host::Value::object());
    optimizer.state_load(provider.reader());
  }
  at::Tensor state(const std::string& name) {
    for (const host::HostTensor& tensor : save()) {
      if (tensor.name == name) return host::view_of_host(tensor).clone();
    }
    return {};
  }

  host::Optimizer optimizer;
  std::vector<at::Tensor> values;
  uint64_t steps = 0;

 private:
  void bind(std::vector<host::OptimizerGroup> groups, std::vector<uint32_t> group, std::vector<int> roles) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto& parameter = parameters_.emplace_back(std::make_unique<host::ModelParameter>());
      parameter->name = "p" + std::to_string(i);
      parameter->tensor = host::borrow_handle(values[i]);
      parameter->role = roles.empty() ? STC_ROLE_OTHER : roles.at(i);
    }
    group.resize(values.size(), 0);
    std::vector<const host::ModelParameter*> all;
    for (const auto& parameter : parameters_) all.push_back(parameter.get());
    optimizer.bind(all, group, groups);
  }
  std::vector<std::unique_ptr<host::ModelParameter>> parameters_;
};

}  // namespace stc::test
