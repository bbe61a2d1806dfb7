/// \file
/// Optimizers at level exact: LibTorch's C++ API, rebuilt when LibTorch changes.
///
///   struct Sgd { struct Params {...}; Sgd(const Params&, stc::Host); ... };
///   STC_OPTIMIZER_PLUGIN(Sgd, "sgd", "1.0.0", "plain gradient descent")
///
/// Required members
///   void bind(const std::vector<BoundParameter>&, const std::vector<stc::Group>&);   once
///   void step(const stc::Step&, const Gradients&);   updates every parameter that has a gradient, in place
///   void save(StateWriter&); void load(StateReader&);  tensors "<parameter>/<state>", by name
///   void reset();                                    forgets all state, step counts included
/// Optional members, found by presence
///   void set_mode(int32_t mode);                     STC_MODE_*
///   void set_group(uint32_t index, const stc::Group&);
///   void set_cautious(bool);                         offers stc.optimizer.cautious/1
///   const char* algorithm(uint32_t index) const;     which update a bound parameter gets; offers
///   stc.optimizer.routing/1 const void* extension(const char* id);           further extensions
/// Gradient mode is on when step is called: update under at::NoGradGuard (ATen/core/grad_mode.h).
#pragma once

#include "stc/core/optimizer_table.hpp"
#include "stc/exact/level.hpp"
#include "stc/plugin.hpp"

namespace stc::exact {

using stc::Group;
using stc::Step;
using BoundParameter = BasicBoundParameter<at::Tensor>;
using Gradients = BasicGradients<Level>;
using StateWriter = BasicStateWriter<Level>;
using StateReader = BasicStateReader<Level>;

}  // namespace stc::exact

/// One optimizer of a library of several; STC_PLUGIN_LIBRARY(exact, Type1, Type2) puts them together.
#define STC_DEFINE_EXACT_OPTIMIZER(Type, name, version, doc)                                                     \
  STC_DEFINE_PLUGIN(STC_KIND_OPTIMIZER, (&::stc::OptimizerSlots<Type, ::stc::exact::Level>::kTable), Type, name, \
                    version, doc)

/// The only plugin of its library.
#define STC_OPTIMIZER_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_EXACT_OPTIMIZER(Type, name, version, doc) \
  STC_PLUGIN_LIBRARY(exact, Type)
