/// \file
/// A plugin's state in memory: what state_save wrote, for state_load and for comparison.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stc/abi/core.h"
#include "stc/core/dtype.hpp"
#include "stc/testing/fake_host.hpp"

namespace stc::testing {

class MemoryState {
 public:
  struct Entry {
    int32_t dtype = 0;  // 0: bytes
    bool is_tensor = false;
    std::vector<int64_t> sizes;
    std::string data;
    bool operator==(const Entry&) const = default;
  };
  /// How tensors are read and made; set by stc/testing/torch_host.hpp. Without it a tensor is
  /// UNSUPPORTED.
  using ToEntry = Entry (*)(stc_tensor tensor);
  using ToTensor = stc_tensor (*)(const Entry& entry);
  inline static ToEntry tensor_to_entry = nullptr;
  inline static ToTensor entry_to_tensor = nullptr;

  explicit MemoryState(FakeHost& host) : host_(host) {
    fill_writer();
    fill_reader();
  }
  ~MemoryState() { drop_loaned(); }
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  const stc_state_writer* writer() const { return &writer_; }
  const stc_state_reader* reader() const { return &reader_; }
  std::map<std::string, Entry> entries;
  /// Names that were written more than once: a fault of the plugin.
  std::vector<std::string> repeated;

 private:
  static MemoryState& self(void* ctx) { return *static_cast<MemoryState*>(ctx); }
  void keep(const char* name, Entry entry) {
    if (!entries.emplace(name, std::move(entry)).second) {
      repeated.push_back(name);
    }
  }
  const Entry* find(const char* name) const {
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : &found->second;
  }
  stc_error* unsupported() {
    return host_.table().error_new(host_.table().ctx, STC_ERROR_UNSUPPORTED, "tensors need stc/testing/torch_host.hpp");
  }
  void drop_loaned() {
    for (stc_tensor tensor : loaned_) {
      host_.table().tensor_delete(host_.table().ctx, tensor);
    }
    loaned_.clear();
  }
  void fill_writer() {
    writer_ = {};
    writer_.struct_size = STC_SIZE_TO_END(stc_state_writer, bytes);
    writer_.ctx = this;
    writer_.tensor = [](void* ctx, const char* name, stc_tensor tensor) -> stc_error* {
      if (tensor_to_entry == nullptr) {
        return self(ctx).unsupported();
      }
      self(ctx).keep(name, tensor_to_entry(tensor));
      return nullptr;
    };
    writer_.buffer = [](void* ctx, const char* name, const stc_buffer* buffer) -> stc_error* {
      Entry entry;
      entry.dtype = buffer->dtype;
      entry.sizes.assign(buffer->sizes, buffer->sizes + buffer->ndim);
      entry.data.assign(static_cast<const char*>(buffer->data), buffer->bytes);
      self(ctx).keep(name, std::move(entry));
      return nullptr;
    };
    writer_.bytes = [](void* ctx, const char* name, const void* data, uint64_t size) -> stc_error* {
      Entry entry;
      entry.data.assign(static_cast<const char*>(data), size);
      self(ctx).keep(name, std::move(entry));
      return nullptr;
    };
  }
  void fill_reader() {
    reader_ = {};
    reader_.struct_size = STC_SIZE_TO_END(stc_state_reader, bytes);
    reader_.ctx = this;
    reader_.count = [](void* ctx) -> uint64_t { return self(ctx).entries.size(); };
    reader_.name = [](void* ctx, uint64_t index) -> const char* {
      return std::next(self(ctx).entries.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
    };
    reader_.tensor = [](void* ctx, const char* name, stc_tensor* out) -> stc_error* {
      const Entry* entry = self(ctx).find(name);
      *out = nullptr;
      if (entry == nullptr || entry->dtype == 0) {
        return nullptr;
      }
      if (entry_to_tensor == nullptr) {
        return self(ctx).unsupported();
      }
      *out = entry_to_tensor(*entry);
      self(ctx).loaned_.push_back(*out);
      return nullptr;
    };
    reader_.buffer = [](void* ctx, const char* name, stc_buffer* out) -> stc_error* {
      const Entry* entry = self(ctx).find(name);
      *out = {};
      if (entry != nullptr && entry->dtype != 0) {
        *out = {const_cast<char*>(entry->data.data()), entry->data.size(), entry->dtype,
                static_cast<int32_t>(entry->sizes.size()), entry->sizes.data()};
      }
      return nullptr;
    };
    reader_.bytes = [](void* ctx, const char* name, const void** data, uint64_t* size) -> stc_error* {
      const Entry* entry = self(ctx).find(name);
      *data = entry == nullptr || entry->dtype != 0 ? nullptr : entry->data.data();
      *size = *data == nullptr ? 0 : entry->data.size();
      return nullptr;
    };
  }

  FakeHost& host_;
  stc_state_writer writer_;
  stc_state_reader reader_;
  std::vector<stc_tensor> loaned_;
};

}  // namespace stc::testing
