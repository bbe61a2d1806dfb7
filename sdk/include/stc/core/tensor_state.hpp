/// \file
/// State of models and optimizers: named tensors, host arrays and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stc/abi/core.h"
#include "stc/core/host.hpp"

namespace stc {

/// Receives state. Names are unique within the plugin; contents are copied before each call returns.
template <class Level>
class BasicStateWriter {
 public:
  using Tensor = typename Level::Tensor;
  BasicStateWriter(const Host& host, const stc_state_writer* raw) : host_(host), raw_(raw) {}
  void tensor(const std::string& name, const Tensor& tensor) {
    host_.check(raw_->tensor(raw_->ctx, name.c_str(), Level::borrow(tensor)));
  }
  void buffer(const std::string& name, const stc_buffer& buffer) {
    host_.check(raw_->buffer(raw_->ctx, name.c_str(), &buffer));
  }
  void bytes(const std::string& name, std::string_view data) {
    host_.check(raw_->bytes(raw_->ctx, name.c_str(), data.data(), data.size()));
  }
  const stc_state_writer* raw() const { return raw_; }

 private:
  Host host_;
  const stc_state_writer* raw_;
};

/// Gives state back. Pointers are valid during load.
template <class Level>
class BasicStateReader {
 public:
  using Tensor = typename Level::Tensor;
  BasicStateReader(const Host& host, const stc_state_reader* raw) : host_(host), raw_(raw) {}
  uint64_t size() const { return raw_->count(raw_->ctx); }
  std::string name(uint64_t index) const { return raw_->name(raw_->ctx, index); }
  /// False when the name is absent.
  bool tensor(const std::string& name, Tensor& out) const {
    stc_tensor handle = nullptr;
    host_.check(raw_->tensor(raw_->ctx, name.c_str(), &handle));
    if (handle == nullptr) return false;
    out = Level::from_borrowed(handle);
    return true;
  }
  /// A host array; data null when the name is absent.
  stc_buffer buffer(const std::string& name) const {
    stc_buffer out{};
    host_.check(raw_->buffer(raw_->ctx, name.c_str(), &out));
    return out;
  }
  /// False when the name is absent.
  bool bytes(const std::string& name, std::string_view& out) const {
    const void* data = nullptr;
    uint64_t size = 0;
    host_.check(raw_->bytes(raw_->ctx, name.c_str(), &data, &size));
    if (data == nullptr) return false;
    out = std::string_view(static_cast<const char*>(data), size);
    return true;
  }
  const stc_state_reader* raw() const { return raw_; }

 private:
  Host host_;
  const stc_state_reader* raw_;
};

}  // namespace stc
