/// \file
/// What a model author sees of a pass, whatever the level: parameters, inputs, outputs. The tensor
/// type is at::Tensor (stc/exact/model.hpp) or stc::stable::Tensor (stc/stable/model.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stc/abi/model.h"

namespace stc {

/// A parameter of a model. The storage of `tensor` never moves once it has been handed out.
template <class Tensor>
struct BasicParameter {
  std::string name;                  // its state_dict name
  Tensor tensor;                     // a leaf; requires_grad where trainable
  int32_t role = STC_ROLE_OTHER;     // STC_ROLE_*: which update it gets under muon
  std::vector<std::string> aliases;  // further names of the same (tied) tensor
  bool trainable = true;
};

/// A tensor that is saved but not trained.
template <class Tensor>
struct BasicBuffer {
  std::string name;
  Tensor tensor;
};

/// Where in training a forward happens.
struct Pass {
  bool training = false;
  bool accumulate = false;   // gradients add to those of earlier micro-batches of the window
  uint64_t step = 0;         // completed optimizer steps
  uint32_t micro_batch = 0;  // within the window, from 0
  uint32_t rank = 0;
  uint64_t dropout_key = 0;  // masks are a function of (key, site, element)
  double weight = 1.0;       // multiplies the gradients of loss_and_grad, nothing else

  Pass() = default;
  explicit Pass(const stc_pass_info& info)
      : training((info.flags & STC_PASS_TRAINING) != 0),
        accumulate((info.flags & STC_PASS_ACCUMULATE) != 0),
        step(info.step),
        micro_batch(info.micro_batch),
        rank(info.rank),
        dropout_key(info.dropout_key),
        weight(info.weight) {}
};

/// The named tensors of a batch, valid during the call that received them. Tensors found here may
/// be copied and kept.
template <class Tensor>
class BasicInputs {
 public:
  struct Item {
    std::string_view name;
    Tensor tensor;
  };

  /// Null when the batch has no such field.
  const Tensor* find(std::string_view name) const {
    for (const Item& item : items_) {
      if (item.name == name) return &item.tensor;
    }
    return nullptr;
  }
  size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  void add(std::string_view name, Tensor tensor) { items_.push_back({name, std::move(tensor)}); }

 private:
  std::vector<Item> items_;
};

/// The named results of a forward. "loss": a scalar; "logits": (B,T,V), the host computes the loss
/// from them and the labels; any other name: a scalar that is logged.
template <class Tensor>
class BasicOutputs {
 public:
  BasicOutputs() = default;
  BasicOutputs(std::initializer_list<std::pair<std::string, Tensor>> items) : items_(items) {}
  void put(std::string name, Tensor tensor) { items_.emplace_back(std::move(name), std::move(tensor)); }
  std::vector<std::pair<std::string, Tensor>>& items() { return items_; }

 private:
  std::vector<std::pair<std::string, Tensor>> items_;
};

/// Tells the host that the gradients of some parameters are final, so that their exchange between
/// ranks may begin while the rest is computed. Does nothing when nobody listens.
class GradientReady {
 public:
  explicit GradientReady(const stc_gradient_ready* raw) : raw_(raw) {}
  /// indices: positions in the model's parameter list.
  void operator()(const uint32_t* indices, uint32_t count) const {
    if (raw_ != nullptr && raw_->ready != nullptr) raw_->ready(raw_->ctx, indices, count);
  }
  void operator()(uint32_t index) const { (*this)(&index, 1); }
  bool wanted() const { return raw_ != nullptr && raw_->ready != nullptr; }

 private:
  const stc_gradient_ready* raw_;
};

}  // namespace stc
