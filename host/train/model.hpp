/// \file
/// Adapter of model plugins. Tensors are handles here; host/train/tensor_bridge.hpp converts them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/plugins/instance.hpp"
#include "stc/abi/model.h"

namespace stc::host {

/// A handle that this object owns.
class TensorHandle {
 public:
  TensorHandle() = default;
  explicit TensorHandle(stc_tensor raw) : raw_(raw) {}
  TensorHandle(TensorHandle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  TensorHandle& operator=(TensorHandle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~TensorHandle() { reset(); }
  stc_tensor get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  void reset();

 private:
  stc_tensor raw_ = nullptr;
};

struct ModelParameter {
  std::string name;
  std::vector<std::string> aliases;
  int role = STC_ROLE_OTHER;
  bool trainable = true;
  stc_tensor tensor = nullptr;  // borrowed from the plugin for its life
};

struct NamedHandle {
  std::string name;
  stc_tensor tensor = nullptr;  // borrowed
};

/// Named outputs of a forward.
struct ModelOutputs {
  std::vector<std::pair<std::string, TensorHandle>> items;
  stc_tensor find(const std::string& name) const;  // null: absent
};

class Model : public Instance {
 public:
  explicit Model(InstanceSpec spec);
  ~Model() override;
  /// Draws the weights. A model without that slot drew them in create, from LibTorch's generators,
  /// which the constructor seeds from the run's seed. Before parameters().
  void init(uint64_t seed);
  /// Read from the plugin at the first call; names checked for duplicates, types for being trainable.
  const std::vector<ModelParameter>& parameters() const;
  std::vector<NamedHandle> buffers();
  /// The model's own gradient buffer of a parameter, or null.
  stc_tensor gradient(size_t index);
  ModelOutputs forward(const stc_pass_info& info, const std::vector<NamedHandle>& inputs);
  bool has_loss_and_grad() const;
  /// Runs the fused pass. Returns the loss, or no handle with `reason` set when the model hands back.
  TensorHandle loss_and_grad(const stc_pass_info& info, const std::vector<NamedHandle>& inputs, ModelOutputs& aux,
                             std::string& reason);
  void parameters_changed();
  /// The model computes `dtype` under autocast with kernels of its own.
  bool has_own_kernels(int32_t device_type, int32_t dtype) const;
  /// False with a reason when the model cannot.
  bool set_gradient_checkpointing(bool enabled, std::string& reason);
  void set_training(bool training);
  std::vector<std::pair<std::string, int64_t>> dimensions();
  /// Names of its stages in forward order; empty when it names none.
  std::vector<std::string> stages();
  bool has_generate() const;
  stc_cache* generate_begin(int64_t rows, int64_t max_length);
  TensorHandle generate_step(stc_cache* cache, stc_tensor ids);
  void generate_end(stc_cache* cache);

 private:
  void read_parameters() const;

  stc_model* raw_ = nullptr;
  mutable bool listed_ = false;
  mutable std::vector<ModelParameter> parameters_;
};

}  // namespace stc::host
