/// \file
/// Models at level exact: LibTorch's C++ API, rebuilt when LibTorch changes.
///
///   #include <stc/exact/model.hpp>
///   struct Mlp { struct Params {...}; Mlp(const Params&, stc::Host); ... };
///   STC_MODEL_PLUGIN(Mlp, "mlp", "1.0.0", "two-layer perceptron")
///
/// Required members
///   std::vector<stc::exact::Parameter> parameters();          or a module's named_parameters()
///   Outputs forward(const Pass&, const Inputs&);              or forward(const Inputs&), or
///   at::Tensor forward(const at::Tensor& input);              the simple form, see below
/// Optional members, found by presence
///   void init(uint64_t seed);                                 draws the weights from seed alone
///   at::Tensor gradient(size_t index);                        the model's own gradient buffer
///   at::Tensor loss_and_grad(const Pass&, const Inputs&, Outputs& aux, const GradientReady&);
///                                                             fused pass; throw stc::Fault(STC_ERROR_UNSUPPORTED,
///                                                             reason), nothing changed, to hand the batch to forward
///   static bool own_kernels(int32_t device_type, int32_t dtype);
///                                                             true: under autocast to dtype it computes with kernels
///                                                             of its own, so that no warning about emulated ones is
///                                                             due
///   void parameters_changed();                                after each write to the parameters from outside
///   void set_gradient_checkpointing(bool);
///   void set_training(bool);                                  or a module's train(bool)
///   std::vector<std::string> stages();
///   std::vector<std::pair<std::string, int64_t>> dimensions();
///   std::vector<stc::exact::Buffer> buffers();                or a module's named_buffers()
///   std::unique_ptr<Cache> generate_begin(int64_t rows, int64_t max_length);
///   at::Tensor generate_step(Cache&, const at::Tensor& ids);  ids (B,t) int64 -> logits (B,V)
///   void generate_end(Cache&);
///   void save(StateWriter&); void load(StateReader&);         beyond parameters and buffers
/// Simple form: the input is input_ids, else inputs, else the first field. The result is the loss,
/// or logits when the batch has labels; with at::Tensor loss(output, labels) the model's own loss.
/// A model without init draws its weights in its constructor: LibTorch's generator is seeded for it.
#pragma once

#include "stc/core/model_table.hpp"
#include "stc/exact/level.hpp"
#include "stc/plugin.hpp"

namespace stc::exact {

using stc::GradientReady;
using stc::Pass;
using Parameter = BasicParameter<at::Tensor>;
using Buffer = BasicBuffer<at::Tensor>;
using Inputs = BasicInputs<at::Tensor>;
using Outputs = BasicOutputs<at::Tensor>;
using StateWriter = BasicStateWriter<Level>;
using StateReader = BasicStateReader<Level>;

}  // namespace stc::exact

/// One model of a library of several; STC_PLUGIN_LIBRARY(exact, Type1, Type2) puts them together.
#define STC_DEFINE_EXACT_MODEL(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_MODEL, (&::stc::ModelSlots<Type, ::stc::exact::Level>::kTable), Type, name, version, doc)

/// The only plugin of its library.
#define STC_MODEL_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_EXACT_MODEL(Type, name, version, doc) \
  STC_PLUGIN_LIBRARY(exact, Type)
