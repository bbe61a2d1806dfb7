/// \file
/// Conformance of optimizers, of level stable or exact; the test itself is of level exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "stc/testing/subject.hpp"
#include "stc/testing/torch_host.hpp"

namespace stc::testing {

using OptimizerInstance = Instance<stc_optimizer_api, stc_optimizer>;

struct OptimizerCase {
  Section config;
  /// Below the rate at which the first updates of the quadratic problem of the suite make its loss
  /// fall.
  double lr = 0.01;
  /// Plugins that the optimizer creates inside itself.
  std::vector<Subject> inner;
};

namespace detail {

/// Parameters bound to one instance, and gradients for them that depend on the step alone.
class Problem {
 public:
  Problem(TorchHost& host, const Subject& subject, const OptimizerCase& given)
      : optimizer(subject, host, given.config), lr_(given.lr) {
    const std::vector<std::vector<int64_t>> shapes{{8, 6}, {6}, {4, 6}, {1}, {3, 2, 2}};
    const int32_t roles[] = {STC_ROLE_LINEAR, STC_ROLE_BIAS, STC_ROLE_EMBEDDING, STC_ROLE_NORM, STC_ROLE_OTHER};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      names_.push_back("layer." + std::to_string(i) + ".weight");
      parameters.push_back(values(shapes[i], 100 + i));
      targets_.push_back(values(shapes[i], 200 + i));
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      bound_.push_back({STC_SIZE_TO_END(stc_bound_parameter, reserved), roles[i], names_[i].c_str(),
                        as_handle(parameters[i]), static_cast<uint32_t>(i % 2), 0});
    }
    groups_ = {{STC_SIZE_TO_END(stc_group, weight_decay), 0, 1.0, 0.0},
               {STC_SIZE_TO_END(stc_group, weight_decay), 0, 0.5, 0.0}};
  }
  SlotError bind() {
    return optimizer.call(optimizer.api().bind, bound_.data(), static_cast<uint32_t>(bound_.size()),
                          static_cast<uint32_t>(sizeof(stc_bound_parameter)), groups_.data(), 2u,
                          static_cast<uint32_t>(sizeof(stc_group)));
  }
  /// Half the squared distance to the targets.
  double loss() const {
    double sum = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      sum += 0.5 * parameters[i].sub(targets_[i]).square().sum().item<double>();
    }
    return sum;
  }
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> gradients;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      gradients.push_back(parameters[i].sub(targets_[i]));
    }
    return gradients;
  }
  /// \param factor the gradients are divided by it beforehand. \param skip has no gradient.
  SlotError step(double factor = 1.0, int skip = -1, bool found_inf = false) {
    std::vector<at::Tensor> gradients = this->gradients();
    for (at::Tensor& gradient : gradients) {
      gradient.mul_(1.0 / factor);
    }
    return step_with(gradients, factor, skip, found_inf);
  }
  SlotError step_with(std::vector<at::Tensor>& gradients, double factor = 1.0, int skip = -1, bool found_inf = false) {
    std::vector<stc_tensor> handles;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      handles.push_back(static_cast<int>(i) == skip ? nullptr : as_handle(gradients[i]));
    }
    at::Tensor flag = at::full({}, found_inf ? 1.0 : 0.0);
    stc_step_info info{};
    info.struct_size = STC_SIZE_TO_END(stc_step_info, found_inf);
    info.lr = lr_;
    info.step = steps_;
    info.grad_factor = factor;
    info.found_inf = found_inf ? as_handle(flag) : nullptr;
    const SlotError error =
        optimizer.call(optimizer.api().step, &info, handles.data(), static_cast<uint32_t>(handles.size()));
    steps_ += error || found_inf ? 0 : 1;
    return error;
  }
  bool same_parameters(const Problem& other) const {
    bool same = true;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      same = same && same_bits(parameters[i], other.parameters[i]);
    }
    return same;
  }
  void copy_parameters(const Problem& other) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].copy_(other.parameters[i]);
    }
    steps_ = other.steps_;
  }
  std::vector<at::Tensor> snapshot() const {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& parameter : parameters) {
      copies.push_back(parameter.clone());
    }
    return copies;
  }
  const std::vector<std::string>& names() const { return names_; }

  OptimizerInstance optimizer;
  std::vector<at::Tensor> parameters;

 private:
  static at::Tensor values(const std::vector<int64_t>& shape, uint64_t seed) {
    at::Tensor tensor = at::zeros(shape);
    auto* data = tensor.data_ptr<float>();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      data[i] = static_cast<float>(std::sin(static_cast<double>(seed * 31 + static_cast<uint64_t>(i) * 7 + 1)));
    }
    return tensor;
  }
  double lr_;
  uint64_t steps_ = 0;
  std::vector<std::string> names_;
  std::vector<at::Tensor> targets_;
  std::vector<stc_bound_parameter> bound_;
  std::vector<stc_group> groups_;
};

inline void check_steps(Report& report, TorchHost& host, const Subject& subject, const OptimizerCase& given) {
  report.context("step");
  Problem first(host, subject, given), second(host, subject, given);
  if (!report.expect(!first.optimizer.error(), "create: " + first.optimizer.error().message)) {
    return;
  }
  SlotError error = first.bind();
  report.expect(!error && !second.bind(), "bind: " + error.message);
  const double before = first.loss();
  const void* storage = first.parameters[0].data_ptr();
  for (int i = 0; i < 20; ++i) {
    error = first.step();
    report.expect(!error, error.message);
    second.step(0.25);
  }
  report.expect(first.loss() < before,
                "the loss went from " + std::to_string(before) + " to " + std::to_string(first.loss()));
  report.expect(first.parameters[0].data_ptr() == storage, "the storage of a parameter moved");
  report.expect(first.same_parameters(second),
                "grad_factor 0.25 on gradients of four times the size gives other weights");

  report.context("no gradient");
  const at::Tensor kept = first.parameters[2].clone(), other = first.parameters[0].clone();
  report.expect(!first.step(1.0, 2), "a null gradient is an error");
  report.expect(same_bits(kept, first.parameters[2]), "a parameter without a gradient changed");
  report.expect(!same_bits(other, first.parameters[0]), "one null gradient stopped the others");

  report.context("found_inf");
  const std::vector<at::Tensor> snapshot = first.snapshot();
  report.expect(!first.step(1.0, -1, true), "found_inf is an error");
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    report.expect(same_bits(snapshot[i], first.parameters[i]), "a parameter changed though found_inf is set");
  }
  report.context("bad gradient");
  std::vector<at::Tensor> wrong = first.gradients();
  wrong[0] = at::zeros({3, 3});
  error = first.step_with(wrong);
  report.expect(error.code == STC_ERROR_INVALID_ARGUMENT,
                "a gradient of another shape: expected INVALID_ARGUMENT, got " + std::to_string(error.code) + " " +
                    error.message);
}

inline void check_state(Report& report, TorchHost& host, const Subject& subject, const OptimizerCase& given) {
  report.context("state");
  Problem first(host, subject, given), second(host, subject, given);
  first.bind();
  second.bind();
  for (int i = 0; i < 5; ++i) {
    first.step();
  }
  MemoryState state(host);
  SlotError error = first.optimizer.call(first.optimizer.api().state_save, state.writer());
  report.expect(!error, "state_save: " + error.message);
  report.expect(state.repeated.empty(), "a name is written twice");
  for (const auto& [name, entry] : state.entries) {
    const bool owned = std::any_of(first.names().begin(), first.names().end(),
                                   [&, n = name](const std::string& own) { return n.starts_with(own + "/"); });
    report.expect(!entry.is_tensor || owned, "tensor " + name + " is not named <parameter>/<state>");
  }
  second.copy_parameters(first);
  error = second.optimizer.call(second.optimizer.api().state_load, state.reader());
  report.expect(!error, "state_load: " + error.message);
  for (int i = 0; i < 5; ++i) {
    first.step();
    second.step();
  }
  report.expect(first.same_parameters(second), "updates differ after a save and a load");

  report.context("reset");
  Problem fresh(host, subject, given);
  fresh.bind();
  const std::vector<at::Tensor> start = fresh.snapshot();
  second.optimizer.api().reset(second.optimizer.get());
  for (std::size_t i = 0; i < start.size(); ++i) {
    second.parameters[i].copy_(start[i]);
  }
  Problem counted(host, subject, given);
  second.copy_parameters(counted);
  for (int i = 0; i < 3; ++i) {
    fresh.step();
    second.step();
  }
  report.expect(fresh.same_parameters(second), "a reset optimizer is not like a new one");
}

}  // namespace detail

/// A TorchHost that creates the inner plugins of a case.
class OptimizerHost : public TorchHost {
 public:
  explicit OptimizerHost(const OptimizerCase& given) : inner_(given.inner) { table().create_inner = &create_inner; }

 private:
  static stc_error* create_inner(void* ctx, int32_t kind, const char* name, const stc_config* config,
                                 const void** table, void** instance, const stc_plugin** plugin) {
    const auto& self = static_cast<OptimizerHost&>(*static_cast<FakeHost*>(ctx));
    const stc_host& host = self.raw_table();
    for (const Subject& subject : self.inner_) {
      if (subject.plugin().kind != kind || std::string(subject.plugin().name) != name) {
        continue;
      }
      const auto& api = subject.api<stc_optimizer_api>();
      stc_optimizer* made = nullptr;
      if (stc_error* error = api.create(&host, config, &made)) {
        return error;
      }
      *table = subject.plugin().table;
      *instance = made;
      *plugin = &subject.plugin();
      return nullptr;
    }
    return host.error_new(ctx, STC_ERROR_NOT_FOUND, name);
  }
  std::vector<Subject> inner_;
};

/// Steps lower a loss, in place and by bits reproducibly; grad_factor multiplies; null gradients
/// and found_inf leave things as they are; wrong gradients are refused; state and reset are
/// complete.
inline Report check_optimizer(const Subject& subject, const OptimizerCase& given = {}) {
  Report report = check_declaration(subject);
  OptimizerHost host(given);
  detail::check_steps(report, host, subject, given);
  detail::check_state(report, host, subject, given);
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
