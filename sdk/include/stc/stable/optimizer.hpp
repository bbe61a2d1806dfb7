/// \file
/// Optimizers at level stable: they load in every host whose LibTorch is at least STC_TORCH_TARGET. Members
/// are those of stc/exact/optimizer.hpp, with stc::stable::Tensor for at::Tensor. Update under
/// stc::stable::NoGradGuard when operators are called; raw pointers need none.
#pragma once

#include "stc/core/optimizer_table.hpp"
#include "stc/plugin.hpp"
#include "stc/stable/level.hpp"

namespace stc::stable {

using stc::Group;
using stc::Step;
using BoundParameter = BasicBoundParameter<Tensor>;
using Gradients = BasicGradients<Level>;
using StateWriter = BasicStateWriter<Level>;
using StateReader = BasicStateReader<Level>;

/// Dtype, shape, address and device of a tensor, borrowed from it. \throws Fault(STC_ERROR_UNSUPPORTED) for
/// sparse and complex ones.
inline stc_tensor_info tensor_info(const Host& host, stc_tensor tensor) {
  stc_tensor_info info{};
  info.struct_size = STC_SIZE_TO_END(stc_tensor_info, is_contiguous);
  host.check(host.raw().tensor_info(host.ctx(), tensor, &info));
  return info;
}

}  // namespace stc::stable

/// One optimizer of a library of several; STC_PLUGIN_LIBRARY(stable, Type1, Type2) puts them together.
#define STC_DEFINE_STABLE_OPTIMIZER(Type, name, version, doc)                                                     \
  STC_DEFINE_PLUGIN(STC_KIND_OPTIMIZER, (&::stc::OptimizerSlots<Type, ::stc::stable::Level>::kTable), Type, name, \
                    version, doc)

/// The only plugin of its library.
#define STC_OPTIMIZER_PLUGIN(Type, name, version, doc)  \
  STC_DEFINE_STABLE_OPTIMIZER(Type, name, version, doc) \
  STC_PLUGIN_LIBRARY(stable, Type)
