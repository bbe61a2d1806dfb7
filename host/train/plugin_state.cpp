#include "host/train/plugin_state.hpp"

#include <utility>

#include <ATen/core/Tensor.h>

#include "host/encoding/hex.hpp"
#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/train/tensor_bridge.hpp"
#include "stc/core/dtype.hpp"

namespace stc::host {

struct StateCollectorSlots {
  static StateCollector& self(void* ctx) { return *static_cast<StateCollector*>(ctx); }

  template <class Body>
  static stc_error* guarded(Body body) noexcept {
    try {
      body();
      return nullptr;
    } catch (const std::exception& error) {
      return make_error(STC_ERROR_INTERNAL, error.what());
    }
  }
  static stc_error* tensor(void* ctx, const char* name, stc_tensor handle) {
    return guarded([&] { self(ctx).tensors_.push_back(self(ctx).copy(name, to_tensor(handle))); });
  }
  static stc_error* buffer(void* ctx, const char* name, const stc_buffer* buffer) {
    return guarded([&] {
      HostTensor copy;
      copy.name = name;
      copy.dtype = buffer->dtype;
      copy.shape.assign(buffer->sizes, buffer->sizes + buffer->ndim);
      copy.bytes = buffer->bytes;
      auto owner = std::make_shared<std::string>(static_cast<const char*>(buffer->data), buffer->bytes);
      copy.data = owner->data();
      copy.owner = std::move(owner);
      self(ctx).tensors_.push_back(std::move(copy));
    });
  }
  static stc_error* bytes(void* ctx, const char* name, const void* data, uint64_t size) {
    return guarded([&] { self(ctx).bytes_[name].assign(static_cast<const char*>(data), size); });
  }
};

StateCollector::StateCollector(HostCopies* copies, std::string group) : copies_(copies), group_(std::move(group)) {
  writer_.struct_size = sizeof(writer_);
  writer_.ctx = this;
  writer_.tensor = &StateCollectorSlots::tensor;
  writer_.buffer = &StateCollectorSlots::buffer;
  writer_.bytes = &StateCollectorSlots::bytes;
}

HostTensor StateCollector::copy(const char* name, const at::Tensor& tensor) const {
  return copies_ != nullptr ? copies_->take(group_, name, tensor) : copy_to_host(name, tensor);
}

Value StateCollector::bytes_as_value() const {
  Value value = Value::object();
  for (const auto& [name, data] : bytes_) value[name] = to_hex(data);
  return value;
}

Value StateCollector::as_value() const {
  Value value = bytes_as_value();
  for (const HostTensor& tensor : tensors_) {
    const std::string_view data(static_cast<const char*>(tensor.data), tensor.bytes);
    value[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data", to_hex(data)}};
  }
  return value;
}

struct StateProvider::Entry {
  std::string name;
  HostTensor host;
  at::Tensor tensor;
  std::string bytes;
  bool is_tensor = false;
};

struct StateProviderSlots {
  static StateProvider& self(void* ctx) { return *static_cast<StateProvider*>(ctx); }
  static uint64_t count(void* ctx) { return self(ctx).entries_.size(); }
  static const char* name(void* ctx, uint64_t index) {
    const auto& entries = self(ctx).entries_;
    return index < entries.size() ? entries[index]->name.c_str() : nullptr;
  }
  static stc_error* tensor(void* ctx, const char* name, stc_tensor* out) {
    *out = nullptr;
    StateProvider::Entry* entry = self(ctx).find(name);
    if (entry == nullptr || !entry->is_tensor) return nullptr;
    try {
      if (!entry->tensor.defined()) entry->tensor = view_of_host(entry->host);
      *out = borrow_handle(entry->tensor);
      return nullptr;
    } catch (const std::exception& error) {
      return make_error(STC_ERROR_INTERNAL, error.what());
    }
  }
  static stc_error* buffer(void* ctx, const char* name, stc_buffer* out) {
    *out = stc_buffer{};
    StateProvider::Entry* entry = self(ctx).find(name);
    if (entry == nullptr || !entry->is_tensor) return nullptr;
    const HostTensor& host = entry->host;
    *out = {const_cast<void*>(host.data), host.bytes, host.dtype, static_cast<int32_t>(host.shape.size()),
            host.shape.data()};
    return nullptr;
  }
  static stc_error* bytes(void* ctx, const char* name, const void** data, uint64_t* size) {
    StateProvider::Entry* entry = self(ctx).find(name);
    const bool found = entry != nullptr && !entry->is_tensor;
    *data = found ? entry->bytes.data() : nullptr;
    *size = found ? entry->bytes.size() : 0;
    return nullptr;
  }
};

namespace {

/// A tensor of StateCollector::as_value.
HostTensor tensor_from_value(const std::string& name, const Value& value) {
  HostTensor tensor;
  tensor.name = name;
  try {
    tensor.dtype = value.at("dtype").get<int>();
    tensor.shape = value.at("shape").get<std::vector<int64_t>>();
    auto data = std::make_shared<std::string>(from_hex(value.at("data").get<std::string>(), "state.json: " + name));
    tensor.data = data->data();
    tensor.bytes = data->size();
    tensor.owner = std::move(data);
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError("state.json: " + name + ": " + error.what());
  }
  uint64_t bytes = dtype_size(tensor.dtype);
  for (const int64_t size : tensor.shape) bytes *= static_cast<uint64_t>(size);
  if (bytes == 0 || bytes != tensor.bytes) {
    throw CheckpointError("state.json: " + name + ": " + std::to_string(tensor.bytes) +
                          " bytes, its shape and type need " + std::to_string(bytes));
  }
  return tensor;
}

}  // namespace

StateProvider::StateProvider(const std::vector<HostTensor>& tensors, const Value& small) {
  for (const HostTensor& tensor : tensors) {
    auto entry = std::make_unique<Entry>();
    entry->name = tensor.name;
    entry->host = tensor;
    entry->is_tensor = true;
    entries_.push_back(std::move(entry));
  }
  if (small.is_object()) {
    for (const auto& [name, value] : small.items()) {
      auto entry = std::make_unique<Entry>();
      entry->name = name;
      entry->is_tensor = value.is_object();
      if (entry->is_tensor) {
        entry->host = tensor_from_value(name, value);
      } else {
        entry->bytes = from_hex(value.get<std::string>(), "state.json: " + name);
      }
      entries_.push_back(std::move(entry));
    }
  }
  reader_.struct_size = sizeof(reader_);
  reader_.ctx = this;
  reader_.count = &StateProviderSlots::count;
  reader_.name = &StateProviderSlots::name;
  reader_.tensor = &StateProviderSlots::tensor;
  reader_.buffer = &StateProviderSlots::buffer;
  reader_.bytes = &StateProviderSlots::bytes;
}

StateProvider::~StateProvider() = default;

StateProvider::Entry* StateProvider::find(const std::string& name) const {
  for (const auto& entry : entries_) {
    if (entry->name == name) return entry.get();
  }
  return nullptr;
}

}  // namespace stc::host
