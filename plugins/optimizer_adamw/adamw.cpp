#include "adamw.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include <stc/core/shape.hpp>

namespace stc::adamw {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Fault(STC_ERROR_INVALID_ARGUMENT, "parameter " + name + ": " + what);
}

/// tensor_info, its failures (sparse, complex) as INVALID_ARGUMENT with the parameter's name.
stc_tensor_info info_of(const Host& host, stc_tensor tensor, const std::string& name, const char* what) {
  try {
    return stable::tensor_info(host, tensor);
  } catch (const Fault& fault) {
    refuse(name, std::string(what) + fault.what());
  }
}

Element element_of(const std::string& name, int32_t dtype) {
  switch (dtype) {
    case STC_DTYPE_FLOAT32: return Element::kFloat32;
    case STC_DTYPE_FLOAT64: return Element::kFloat64;
    case STC_DTYPE_FLOAT16: return Element::kFloat16;
    case STC_DTYPE_BFLOAT16: return Element::kBFloat16;
    default: refuse(name, std::string("got dtype ") + dtype_name(dtype) + ", expected a floating-point one");
  }
}

Slot make_slot(const Host& host, const stable::BoundParameter& parameter, size_t num_groups) {
  const stc_tensor_info info = info_of(host, parameter.tensor.get(), parameter.name, "");
  Slot slot;
  slot.name = parameter.name;
  slot.tensor = parameter.tensor;
  slot.group = parameter.group;
  if (slot.group >= num_groups) refuse(slot.name, "is in group " + std::to_string(slot.group) + " of " + std::to_string(num_groups));
  slot.dtype = info.dtype;
  slot.element = element_of(slot.name, info.dtype);
  slot.on_host = info.device_type == STC_DEVICE_CPU;
  slot.device_type = info.device_type;
  slot.device_index = info.device_index;
  slot.sizes.assign(info.sizes, info.sizes + info.ndim);
  slot.numel = 1;
  for (const int64_t size : slot.sizes) slot.numel *= size;
  slot.data = info.data;
  if (slot.on_host && info.is_contiguous == 0) refuse(slot.name, "is not contiguous; make it so before it becomes a parameter");
  return slot;
}

/// Two parameters over one memory would be updated twice, and by two threads at once.
void refuse_shared_memory(const std::vector<Slot>& slots) {
  std::vector<const Slot*> order;
  for (const Slot& slot : slots) {
    if (slot.on_host && slot.numel > 0) order.push_back(&slot);
  }
  std::sort(order.begin(), order.end(), [](const Slot* a, const Slot* b) { return a->data < b->data; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Slot& a = *order[i - 1];
    const auto* end = static_cast<const char*>(a.data) + a.numel * static_cast<int64_t>(dtype_size(a.dtype));
    if (order[i]->data < end) refuse(order[i]->name, "shares memory with " + a.name + "; bind a tied tensor once");
  }
}

/// The one number of a 0-d tensor on the CPU.
double read_scalar(const Host& host, stc_tensor tensor, const char* what) {
  const stc_tensor_info info = stable::tensor_info(host, tensor);
  if (info.device_type != STC_DEVICE_CPU || info.dtype != STC_DTYPE_FLOAT32) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, std::string(what) + ": expected a 0-d float32 tensor on the parameters' device");
  }
  return static_cast<double>(*static_cast<const float*>(info.data));
}

void check_gradient(const Slot& slot, const stc_tensor_info& info) {
  if (info.dtype != slot.dtype) {
    refuse(slot.name, std::string("gradient has dtype ") + dtype_name(info.dtype) + ", expected " + dtype_name(slot.dtype));
  }
  const bool same_shape = static_cast<size_t>(info.ndim) == slot.sizes.size() &&
                          std::equal(slot.sizes.begin(), slot.sizes.end(), info.sizes);
  if (!same_shape) {
    refuse(slot.name, "gradient has shape " + shape_text(info.sizes, static_cast<size_t>(info.ndim)) + ", expected " +
                          shape_text(slot.sizes));
  }
  if (info.device_type != slot.device_type || info.device_index != slot.device_index) {
    refuse(slot.name, "gradient is on another device than the parameter");
  }
}

}  // namespace

AdamW::AdamW(const Params& params, stc::Host host) : host_(host), on_host_(host) {
  if (params.betas.size() != 2) {
    throw Fault::config("betas", "got " + std::to_string(params.betas.size()) + " values, expected 2");
  }
  settings_.beta1 = params.betas[0];
  settings_.beta2 = params.betas[1];
  settings_.eps = params.eps;
  settings_.fused = params.fused.value_or(true);
}

void AdamW::bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
  if (!slots_.empty()) throw Fault(STC_ERROR_STATE, "bind: called twice");
  groups_ = groups;
  for (const stable::BoundParameter& parameter : parameters) {
    slots_.push_back(make_slot(host_, parameter, groups.size()));
  }
  refuse_shared_memory(slots_);
  on_host_.bind(slots_);
  on_device_.bind(slots_);
}

void AdamW::step(const Step& step, const stable::Gradients& gradients) {
  if (gradients.size() != slots_.size()) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "step: got " + std::to_string(gradients.size()) + " gradients, expected " +
                                                std::to_string(slots_.size()));
  }
  std::vector<HostGradient> on_host;
  std::vector<uint32_t> device_indices;
  std::vector<stable::Tensor> device_gradients;
  on_host_.clear_copies();
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    if (!gradients.has(i)) continue;
    const Slot& slot = slots_[i];
    const stc_tensor_info info = info_of(host_, gradients.raw(i), slot.name, "gradient: ");
    check_gradient(slot, info);
    if (slot.on_host) {
      on_host.push_back({i, info.is_contiguous != 0 ? info.data : on_host_.copy_strided(info, slot.numel)});
    } else {
      device_indices.push_back(i);
      device_gradients.push_back(gradients[i]);
    }
  }
  // The number of updates did not grow: the device skipped the last one.
  if (last_step_ && *last_step_ == step.step) {
    for (const uint32_t i : last_device_indices_) --slots_[i].updates;
    last_step_.reset();
  }
  if (!on_host.empty()) {
    if (step.found_inf != nullptr && read_scalar(host_, step.found_inf, "found_inf") != 0) return;
    const double factor =
        step.grad_factor_t != nullptr ? read_scalar(host_, step.grad_factor_t, "grad_factor") : step.grad_factor;
    on_host_.step(settings_, groups_, step.lr, factor, on_host);
  }
  if (!device_indices.empty()) {
    on_device_.step(settings_, groups_, step, device_indices, device_gradients);
    last_step_ = step.step;
    last_device_indices_ = std::move(device_indices);
  }
}

void AdamW::save(stable::StateWriter& writer) const {
  for (const Slot& slot : slots_) {
    if (slot.on_host) {
      const stc_buffer exp_avg{slot.exp_avg, static_cast<uint64_t>(slot.numel) * slot.state_size(), slot.state_dtype(),
                               static_cast<int32_t>(slot.sizes.size()), slot.sizes.data()};
      stc_buffer exp_avg_sq = exp_avg;
      exp_avg_sq.data = slot.exp_avg_sq;
      writer.buffer((slot.name + "/exp_avg").c_str(), exp_avg);
      writer.buffer((slot.name + "/exp_avg_sq").c_str(), exp_avg_sq);
    } else {
      writer.tensor(slot.name + "/exp_avg", slot.device_exp_avg);
      writer.tensor(slot.name + "/exp_avg_sq", slot.device_exp_avg_sq);
    }
    writer.number((slot.name + "/step").c_str(), slot.updates);
  }
}

namespace {

/// A moment as it is in the checkpoint, checked against its parameter.
stc_buffer find_moment(const stable::StateReader& reader, const Slot& slot, const std::string& state) {
  const std::string name = slot.name + "/" + state;
  const stc_buffer found = reader.buffer(name.c_str());
  if (found.data == nullptr && slot.numel > 0) throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": is missing");
  const bool fits = found.dtype == (slot.on_host ? slot.state_dtype() : slot.dtype) &&
                    static_cast<size_t>(found.ndim) == slot.sizes.size() &&
                    std::equal(slot.sizes.begin(), slot.sizes.end(), found.sizes);
  if (!fits) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT,
                "state " + name + ": got " + dtype_name(found.dtype) + " " +
                    shape_text(found.sizes, static_cast<size_t>(found.ndim)) + ", expected " +
                    dtype_name(slot.on_host ? slot.state_dtype() : slot.dtype) + " " +
                    shape_text(slot.sizes));
  }
  return found;
}

}  // namespace

void AdamW::load(stable::StateReader& reader) {
  struct Found {
    stc_buffer exp_avg, exp_avg_sq;
    int64_t updates;
  };
  std::vector<Found> all;
  for (const Slot& slot : slots_) {
    const auto updates = reader.number<int64_t>((slot.name + "/step").c_str());
    if (!updates || *updates < 0) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + slot.name + "/step: is " + (updates ? "negative" : "missing"));
    }
    all.push_back({find_moment(reader, slot, "exp_avg"), find_moment(reader, slot, "exp_avg_sq"), *updates});
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.updates = all[i].updates;
    if (slot.on_host) {
      if (slot.numel == 0) continue;
      std::memcpy(slot.exp_avg, all[i].exp_avg.data, all[i].exp_avg.bytes);
      std::memcpy(slot.exp_avg_sq, all[i].exp_avg_sq.data, all[i].exp_avg_sq.bytes);
    } else {
      const stable::NoGradGuard no_grad;
      stable::Tensor exp_avg, exp_avg_sq;
      reader.tensor(slot.name + "/exp_avg", exp_avg);
      reader.tensor(slot.name + "/exp_avg_sq", exp_avg_sq);
      on_device_.copy_state(slot, exp_avg, exp_avg_sq);
    }
  }
  last_step_.reset();
}

void AdamW::reset() {
  on_host_.zero();
  on_device_.zero();
  for (Slot& slot : slots_) slot.updates = 0;
  last_step_.reset();
}

void AdamW::set_group(uint32_t index, const Group& group) {
  if (index >= groups_.size()) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT, "set_group: got index " + std::to_string(index) + ", there are " +
                                                std::to_string(groups_.size()) + " groups");
  }
  groups_[index] = group;
}

}  // namespace stc::adamw

STC_OPTIMIZER_PLUGIN(stc::adamw::AdamW, "adamw", "1.0.0", "AdamW with decoupled weight decay")
