/// \file
/// A host for tests: every service in memory, everything that a plugin says is kept. No LibTorch;
/// the tensor services come with stc/testing/torch_host.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "stc/abi/host.h"
#include "stc/core/guard.hpp"
#include "stc/core/sized.hpp"
#include "stc/testing/section.hpp"

namespace stc::testing {

/// An error that a slot returned, already freed.
struct SlotError {
  int32_t code = 0;  // 0: none
  std::string message;
  std::string key;
  explicit operator bool() const { return code != 0; }
};

class FakeHost {
 public:
  struct LogLine {
    int32_t level;
    std::string message;
  };
  struct Event {
    std::string name;
    std::vector<std::pair<std::string, Node>> fields;
  };

  FakeHost() { fill(); }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  /// Give this to entry and create. Members may be replaced by a test.
  stc_host& table() { return table_; }
  const stc_host& raw_table() const { return table_; }

  /// Reads and frees the error of a slot.
  SlotError take(stc_error* error) {
    if (error == nullptr) {
      return {};
    }
    SlotError taken = *as_error(error);
    table_.error_free(table_.ctx, error);
    return taken;
  }
  /// Errors made and not yet freed: 0 when nothing leaks.
  int64_t errors_alive() const { return errors_alive_; }

  std::vector<LogLine> log_lines() const {
    const std::lock_guard lock(mutex_);
    return log_lines_;
  }
  std::vector<Event> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::map<std::string, double> metrics() const {
    const std::lock_guard lock(mutex_);
    return metrics_;
  }

  /* what the plugin is told */
  uint64_t seed = 1234;
  std::string run_dir = ".";
  std::string root;  // relative paths start here; empty: the working directory
  int32_t compute_dtype = STC_DTYPE_FLOAT32;
  std::atomic<bool> cancelled{false};
  stc_device_info device{STC_SIZE_TO_END(stc_device_info, memory_bytes), 0, STC_DEVICE_CPU, -1, 0, 0, 2, 0, 0};
  int num_threads = 2;

 private:
  /// What stc_error* points to here.
  static SlotError* as_error(stc_error* error) { return reinterpret_cast<SlotError*>(error); }
  static const SlotError* as_error(const stc_error* error) { return reinterpret_cast<const SlotError*>(error); }
  stc_error* make_error(SlotError error) {
    ++errors_alive_;
    return reinterpret_cast<stc_error*>(new SlotError(std::move(error)));
  }
  static FakeHost& self(void* ctx) { return *static_cast<FakeHost*>(ctx); }
  void fill() {
    std::memset(&table_, 0, sizeof table_);
    table_.struct_size = STC_SIZE_TO_END(stc_host, get_extension);
    table_.ctx = this;
    fill_errors();
    fill_messages();
    fill_config();
    fill_run();
    fill_memory();
  }
  void fill_errors() {
    table_.error_new = [](void* ctx, int32_t code, const char* message) {
      return self(ctx).make_error({code, message == nullptr ? "" : message, {}});
    };
    table_.error_new_config = [](void* ctx, const char* key, const char* message) {
      return self(ctx).make_error(
          {STC_ERROR_INVALID_CONFIG, message == nullptr ? "" : message, key == nullptr ? "" : key});
    };
    table_.error_free = [](void* ctx, stc_error* error) {
      --self(ctx).errors_alive_;
      delete as_error(error);
    };
    table_.error_code = [](void*, const stc_error* error) { return as_error(error)->code; };
    table_.error_message = [](void*, const stc_error* error) { return as_error(error)->message.c_str(); };
  }
  void fill_messages() {
    table_.log = [](void* ctx, int32_t level, const char* message) {
      const std::lock_guard lock(self(ctx).mutex_);
      self(ctx).log_lines_.push_back({level, message});
    };
    table_.log_level = [](void*) -> int32_t { return STC_LOG_DEBUG; };
    table_.event = [](void* ctx, const char* name, const stc_field* fields, uint64_t num_fields) {
      Event event{name, {}};
      for (uint64_t i = 0; i < num_fields; ++i) {
        event.fields.emplace_back(fields[i].name, to_node(Value(fields[i].value)));
      }
      const std::lock_guard lock(self(ctx).mutex_);
      self(ctx).events_.push_back(std::move(event));
    };
    table_.metric = [](void* ctx, const char* name, double value) {
      const std::lock_guard lock(self(ctx).mutex_);
      self(ctx).metrics_[name] = value;
    };
    table_.trace = [](void*, const char*, int32_t) {};
  }
  void fill_config() {
    table_.config_get = [](void* ctx, const stc_config* config, const char* key, stc_value* out) -> stc_error* {
      if (const auto* object = std::get_if<Node::Object>(&reinterpret_cast<const Node*>(config)->data)) {
        for (const auto& [name, node] : *object) {
          if (name == key) {
            *out = node.value();
            return nullptr;
          }
        }
      }
      return self(ctx).table_.error_new(ctx, STC_ERROR_NOT_FOUND, key);
    };
    table_.config_size = [](void*, const stc_config* config) -> uint64_t {
      const auto& data = reinterpret_cast<const Node*>(config)->data;
      if (const auto* list = std::get_if<Node::List>(&data)) {
        return list->size();
      }
      const auto* object = std::get_if<Node::Object>(&data);
      return object == nullptr ? 0 : object->size();
    };
    table_.config_at = [](void* ctx, const stc_config* config, uint64_t index, const char** key,
                          stc_value* out) -> stc_error* {
      const auto& data = reinterpret_cast<const Node*>(config)->data;
      if (index >= self(ctx).table_.config_size(ctx, config)) {
        return self(ctx).table_.error_new(ctx, STC_ERROR_NOT_FOUND, "config entry");
      }
      if (const auto* list = std::get_if<Node::List>(&data)) {
        *key = nullptr;
        *out = (*list)[index].value();
      } else {
        const auto& entry = std::get<Node::Object>(data)[index];
        *key = entry.first.c_str();
        *out = entry.second.value();
      }
      return nullptr;
    };
  }
  void fill_run() {
    // FNV-1a of the stream's name, mixed with the seed: enough for tests that compare streams.
    table_.rng_seed = [](void* ctx, const char* stream) {
      uint64_t hash = 14695981039346656037u ^ self(ctx).seed;
      for (; *stream != '\0'; ++stream) {
        hash = (hash ^ static_cast<unsigned char>(*stream)) * 1099511628211u;
      }
      return hash;
    };
    table_.cancelled = [](void* ctx) -> int32_t { return self(ctx).cancelled ? 1 : 0; };
    table_.compute_dtype = [](void* ctx) { return self(ctx).compute_dtype; };
    table_.stage_begin = [](void*, const char*) {};
    table_.stage_end = [](void*, const char*) {};
    table_.run_dir = [](void* ctx) { return self(ctx).run_dir.c_str(); };
    table_.path_resolve = [](void* ctx, const char* path) {
      thread_local std::string resolved;
      const std::string& base = self(ctx).root;
      resolved = path[0] == '/' || base.empty() ? std::string(path) : base + "/" + path;
      return resolved.c_str();
    };
    table_.create_inner = [](void* ctx, int32_t, const char* name, const stc_config*, const void**, void**,
                             const stc_plugin**) { return self(ctx).table_.error_new(ctx, STC_ERROR_NOT_FOUND, name); };
    table_.get_extension = [](void*, const char*) -> const void* { return nullptr; };
  }
  void fill_memory() {
    table_.alloc = [](void* ctx, uint64_t bytes, uint64_t alignment, int32_t, void** out) -> stc_error* {
      *out = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      return *out == nullptr ? self(ctx).table_.error_new(ctx, STC_ERROR_OUT_OF_MEMORY, "alloc") : nullptr;
    };
    table_.free = [](void*, void* memory) { std::free(memory); };
    table_.parallel_for = [](void* ctx, int64_t n, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* arg) {
      const int64_t step = std::max<int64_t>({grain, 1, (n + self(ctx).num_threads - 1) / self(ctx).num_threads});
      std::vector<std::thread> threads;
      for (int64_t begin = 0; begin < n; begin += step) {
        threads.emplace_back(fn, arg, begin, std::min(n, begin + step));
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
    };
    table_.device = [](void* ctx, stc_device_info* out) -> stc_error* {
      stc::detail::export_to(out, self(ctx).device);
      return nullptr;
    };
    table_.stream = [](void*) -> void* { return nullptr; };
  }
  static Node to_node(const Value& value) {
    switch (value.kind()) {
      case STC_VALUE_BOOL: return Node(value.as_bool());
      case STC_VALUE_INT: return Node(value.as_int());
      case STC_VALUE_FLOAT: return Node(value.as_double());
      case STC_VALUE_STRING: return Node(std::string(value.as_string()));
      default: return {};
    }
  }

  stc_host table_;
  std::atomic<int64_t> errors_alive_{0};
  mutable std::mutex mutex_;
  std::vector<LogLine> log_lines_;
  std::vector<Event> events_;
  std::map<std::string, double> metrics_;
};

}  // namespace stc::testing
