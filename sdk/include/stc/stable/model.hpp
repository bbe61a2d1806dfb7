/// \file
/// Models at level stable: they load in every host whose LibTorch is at least STC_TORCH_TARGET. Members are
/// those of stc/exact/model.hpp, with stc::stable::Tensor for at::Tensor. Operators: stc/stable/ops.hpp;
/// own gradients: stc/stable/autograd.hpp. Operators that take the shims of one backend
/// (aoti_torch_cpu_...) lose gradients silently: call through stc/stable/operator.hpp.
#pragma once

#include "stc/core/model_table.hpp"
#include "stc/plugin.hpp"
#include "stc/stable/level.hpp"

namespace stc::stable {

using stc::GradientReady;
using stc::Pass;
using Parameter = BasicParameter<Tensor>;
using Buffer = BasicBuffer<Tensor>;
using Inputs = BasicInputs<Tensor>;
using Outputs = BasicOutputs<Tensor>;
using StateWriter = BasicStateWriter<Level>;
using StateReader = BasicStateReader<Level>;

}  // namespace stc::stable

/// One model of a library of several; STC_PLUGIN_LIBRARY(stable, Type1, Type2) puts them together.
#define STC_DEFINE_STABLE_MODEL(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_MODEL, (&::stc::ModelSlots<Type, ::stc::stable::Level>::kTable), Type, name, version, doc)

/// The only plugin of its library.
#define STC_MODEL_PLUGIN(Type, name, version, doc)  \
  STC_DEFINE_STABLE_MODEL(Type, name, version, doc) \
  STC_PLUGIN_LIBRARY(stable, Type)
