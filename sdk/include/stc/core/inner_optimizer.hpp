/// \file
/// An optimizer inside another one: created by name from the host, driven through its table. Authors
/// include stc/stable/inner_optimizer.hpp or stc/exact/inner_optimizer.hpp instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stc/abi/optimizer.h"
#include "stc/core/guard.hpp"
#include "stc/core/host.hpp"
#include "stc/core/optimizer_types.hpp"
#include "stc/core/tensor_state.hpp"

namespace stc {

/// Its errors leave the surrounding slot as they are, with their own key and the inner plugin's name.
template <class L>
class BasicInnerOptimizer {
 public:
  using Parameter = BasicBoundParameter<typename L::Tensor>;

  /// \param section the settings that the inner plugin reads.
  BasicInnerOptimizer(Host host, const std::string& name, const Config& section) : host_(host) {
    const void* table = nullptr;
    void* instance = nullptr;
    stc_error* refused = host.raw().create_inner(host.ctx(), STC_KIND_OPTIMIZER, name.c_str(), section.raw(), &table,
                                                 &instance, &plugin_);
    if (refused != nullptr) throw detail::PassedError{refused};
    api_ = detail::imported(static_cast<const stc_optimizer_api*>(table));
    self_ = static_cast<stc_optimizer*>(instance);
  }
  ~BasicInnerOptimizer() { api_.destroy(self_); }
  BasicInnerOptimizer(const BasicInnerOptimizer&) = delete;
  BasicInnerOptimizer& operator=(const BasicInnerOptimizer&) = delete;

  const char* name() const { return plugin_->name; }

  /// Keeps the tensors for its own life, as the inner optimizer borrows them.
  void bind(std::vector<Parameter> parameters, const std::vector<Group>& groups) {
    parameters_ = std::move(parameters);
    std::vector<stc_bound_parameter> bound;
    for (const Parameter& p : parameters_) {
      bound.push_back(
          {STC_SIZE_TO_END(stc_bound_parameter, reserved), p.role, p.name.c_str(), L::borrow(p.tensor), p.group, 0});
    }
    std::vector<stc_group> raw_groups;
    for (const Group& group : groups) {
      raw_groups.push_back(raw(group));
    }
    check(api_.bind(self_, bound.data(), static_cast<uint32_t>(bound.size()), sizeof(stc_bound_parameter),
                    raw_groups.data(), static_cast<uint32_t>(raw_groups.size()), sizeof(stc_group)));
  }
  /// \param gradients `count` handles in the order of bind, null where there is none.
  void step(const Step& step, const stc_tensor* gradients, uint32_t count) {
    stc_step_info info{};
    info.struct_size = STC_SIZE_TO_END(stc_step_info, found_inf);
    info.lr = step.lr;
    info.step = step.step;
    info.grad_factor = step.grad_factor;
    info.grad_factor_t = step.grad_factor_t;
    info.found_inf = step.found_inf;
    check(api_.step(self_, &info, gradients, count));
  }
  void save(BasicStateWriter<L>& writer) const { check(api_.state_save(self_, writer.raw())); }
  void load(BasicStateReader<L>& reader) { check(api_.state_load(self_, reader.raw())); }
  void reset() { api_.reset(self_); }
  void set_mode(int32_t mode) {
    if (api_.set_mode != nullptr) {
      api_.set_mode(self_, mode);
    }
  }
  void set_group(uint32_t index, const Group& group) {
    if (api_.set_group == nullptr) {
      throw Fault(STC_ERROR_UNSUPPORTED, std::string("optimizer ") + name() + " has no set_group");
    }
    const stc_group item = raw(group);
    check(api_.set_group(self_, index, &item));
  }
  /// It masks by itself from now on; false when it cannot.
  bool set_cautious(bool enabled) {
    const auto* cautious = static_cast<const stc_optimizer_cautious*>(extension(STC_OPTIMIZER_CAUTIOUS));
    if (cautious == nullptr) {
      return false;
    }
    check(detail::imported(cautious).set_cautious(self_, enabled ? 1 : 0));
    return true;
  }
  /// Which update a bound parameter gets; the plugin's name unless it says more.
  const char* algorithm(uint32_t index) const {
    const auto* routing = static_cast<const stc_optimizer_routing*>(extension(STC_OPTIMIZER_ROUTING));
    return routing == nullptr ? name() : detail::imported(routing).algorithm(self_, index);
  }
  /// Of the instance; null when it has none of that name.
  const void* extension(const char* id) const {
    return api_.get_extension == nullptr ? nullptr : api_.get_extension(self_, id);
  }

 private:
  /// Errors that name a key pass as they are; the others say whose they are.
  void check(stc_error* error) const {
    if (error == nullptr) return;
    if (host_.raw().error_code(host_.ctx(), error) == STC_ERROR_INVALID_CONFIG) throw detail::PassedError{error};
    const Fault fault = host_.take(error);
    throw Fault(fault.code(), std::string("plugin ") + name() + ": " + fault.what());
  }
  static stc_group raw(const Group& group) {
    return {STC_SIZE_TO_END(stc_group, weight_decay), 0, group.lr_scale, group.weight_decay};
  }

  Host host_;
  stc_optimizer_api api_{};
  stc_optimizer* self_ = nullptr;
  const stc_plugin* plugin_ = nullptr;
  std::vector<Parameter> parameters_;
};

}  // namespace stc
