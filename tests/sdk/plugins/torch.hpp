/// \file
/// A right optimizer and a right model of level exact, and each with one fault that its name tells.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "stc/exact/model.hpp"
#include "stc/exact/optimizer.hpp"

namespace stc::sdk_test {

enum class OptimizerFault { kNone, kFactor, kDecay, kFoundInf, kShape, kVelocity, kReset, kSign };

/// v = 0.9 v + g, p = p - lr v.
template <OptimizerFault kFault>
struct Momentum {
  std::vector<exact::BoundParameter> parameters;
  std::vector<Group> groups;
  std::vector<at::Tensor> velocity;

  void bind(const std::vector<exact::BoundParameter>& bound, const std::vector<Group>& given) {
    parameters = bound;
    groups = given;
    velocity.resize(bound.size());
  }
  void step(const Step& info, const exact::Gradients& gradients) {
    const at::NoGradGuard no_grad;
    if (kFault != OptimizerFault::kFoundInf && info.found_inf != nullptr &&
        reinterpret_cast<const at::Tensor*>(info.found_inf)->item<float>() != 0) {
      return;
    }
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor& parameter = parameters[i].tensor;
      if (!gradients.has(i)) {
        if (kFault == OptimizerFault::kDecay) {
          parameter.mul_(0.99);
        }
        continue;
      }
      const at::Tensor gradient = gradients[i];
      if (kFault != OptimizerFault::kShape && gradient.sizes() != parameter.sizes()) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT, parameters[i].name + ": gradient of another shape");
      }
      if (!velocity[i].defined()) {
        velocity[i] = at::zeros_like(parameter);
      }
      velocity[i].mul_(0.9).add_(gradient, kFault == OptimizerFault::kFactor ? 1.0 : info.grad_factor);
      const double rate = info.lr * groups[parameters[i].group].lr_scale;
      parameter.add_(velocity[i], kFault == OptimizerFault::kSign ? rate : -rate);
    }
  }
  void save(exact::StateWriter& state) {
    for (std::size_t i = 0; i < velocity.size(); ++i) {
      if (velocity[i].defined()) {
        state.tensor(parameters[i].name + "/velocity", velocity[i]);
      }
    }
  }
  void load(exact::StateReader& state) {
    for (std::size_t i = 0; kFault != OptimizerFault::kVelocity && i < velocity.size(); ++i) {
      at::Tensor saved;
      if (state.tensor(parameters[i].name + "/velocity", saved)) {
        velocity[i] = saved.clone();
      }
    }
  }
  void reset() {
    if (kFault != OptimizerFault::kReset) {
      velocity.assign(velocity.size(), at::Tensor());
    }
  }
};

enum class ModelFault {
  kNone,
  kSeed,
  kRestless,
  kGradient,
  kReplaces,
  kWeighsLoss,
  kDetached,
  kTwice,
  kUnbound,
  kPiles
};

/// loss = mean((x w + b)^2), with a pass of its own.
template <ModelFault kFault>
struct Linear {
  at::Tensor weight = at::zeros({3, 2}), bias = at::zeros({2});
  at::Tensor weight_gradient = at::zeros({3, 2}), bias_gradient = at::zeros({2});
  int calls = 0;

  void init(uint64_t seed) {
    const at::NoGradGuard no_grad;
    const uint64_t used = kFault == ModelFault::kSeed ? 1 : seed;
    for (int64_t i = 0; i < 6; ++i) {
      weight.data_ptr<float>()[i] = static_cast<float>(used % 13) / 13.0F - 0.1F * static_cast<float>(i);
    }
    bias.fill_(0.25);
    weight.requires_grad_();
    bias.requires_grad_();
    if (kFault != ModelFault::kUnbound) {
      weight.mutable_grad() = weight_gradient;
      bias.mutable_grad() = bias_gradient;
    }
  }
  std::vector<exact::Parameter> parameters() {
    std::vector<exact::Parameter> list{{"weight", weight, STC_ROLE_LINEAR, {}}, {"bias", bias, STC_ROLE_BIAS, {}}};
    if (kFault == ModelFault::kTwice) {
      list.push_back({"again", weight, STC_ROLE_LINEAR, {}});
    }
    return list;
  }
  at::Tensor gradient(size_t index) { return index == 0 ? weight_gradient : bias_gradient; }
  at::Tensor loss(const at::Tensor& x) {
    at::Tensor result = x.matmul(weight).add(bias).square().mean();
    if (kFault == ModelFault::kRestless) {
      result = result.add(0.001 * ++calls);
    }
    return kFault == ModelFault::kDetached ? result.detach() : result;
  }
  void clear() {
    weight_gradient.zero_();
    bias_gradient.zero_();
  }
  exact::Outputs forward(const Pass& pass, const exact::Inputs& inputs) {
    if (!pass.accumulate && kFault != ModelFault::kPiles) {
      clear();
    }
    exact::Outputs outputs;
    outputs.put("loss", loss(*inputs.find("inputs")));
    return outputs;
  }
  at::Tensor loss_and_grad(const Pass& pass, const exact::Inputs& inputs, exact::Outputs&, const GradientReady&) {
    const at::NoGradGuard no_grad;
    const at::Tensor& x = *inputs.find("inputs");
    const at::Tensor y = x.matmul(weight).add(bias);
    if (!pass.accumulate || kFault == ModelFault::kReplaces) {
      clear();
    }
    const at::Tensor dy = y.mul(2.0 / static_cast<double>(y.numel()) * pass.weight);
    weight_gradient.add_(x.t().matmul(dy), kFault == ModelFault::kGradient ? 1.01 : 1.0);
    bias_gradient.add_(dy.sum(0));
    return y.square().mean().mul(kFault == ModelFault::kWeighsLoss ? pass.weight : 1.0);
  }
};

}  // namespace stc::sdk_test
