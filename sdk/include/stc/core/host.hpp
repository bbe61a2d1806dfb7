/// \file
/// The services of the host, as a plugin sees them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stc/abi/host.h"
#include "stc/abi/plugin.h"
#include "stc/core/dtype.hpp"
#include "stc/core/sized.hpp"
#include "stc/core/value.hpp"

namespace stc {

/// One field of an event. The name is borrowed and NUL-terminated.
struct EventField {
  const char* name;
  Value value;
};

/// The device of the run.
struct DeviceInfo {
  int32_t type = STC_DEVICE_CPU;  // STC_DEVICE_*
  int32_t index = -1;             // -1: not numbered
  bool bf16 = false;              // in hardware
  bool fp16 = false;
  int32_t num_threads = 1;
  uint64_t memory_bytes = 0;  // 0: unknown

  static DeviceInfo from(const stc_device_info& raw) {
    return {raw.type, raw.index, raw.bf16 != 0, raw.fp16 != 0, raw.num_threads, raw.memory_bytes};
  }
};

/// Another plugin, created by Host::create_inner. Destroy it with the table's destroy.
struct InnerPlugin {
  const void* table = nullptr;  // stc_<kind>_api
  void* instance = nullptr;
  const stc_plugin* plugin = nullptr;
};

/// A handle, as cheap to copy as a pointer; valid until the plugin's destroy has returned. All
/// functions are thread-safe and throw Fault where the host answers with an error.
class Host {
 public:
  /// \param table must outlive the Host, and hold all of stc_host (see detail::imported).
  explicit Host(const stc_host& table) : table_(&table) {}

  /* log and events */
  void log(int32_t level, const std::string& message) const { table_->log(table_->ctx, level, message.c_str()); }
  void debug(const std::string& message) const { log(STC_LOG_DEBUG, message); }
  void info(const std::string& message) const { log(STC_LOG_INFO, message); }
  void warning(const std::string& message) const { log(STC_LOG_WARNING, message); }
  void error(const std::string& message) const { log(STC_LOG_ERROR, message); }
  /// Whether a line of this level would be shown; ask before building a costly one.
  bool logs(int32_t level) const { return level >= table_->log_level(table_->ctx); }

  /// An event of the plugin's own, named "<plugin>_<noun>".
  ///   host.event("csv_rotated", {{"file", path}, {"rows", rows}});
  void event(const char* name, std::span<const EventField> fields) const {
    std::vector<stc_field> raw;
    raw.reserve(fields.size());
    for (const EventField& field : fields) {
      raw.push_back({field.name, field.value.raw()});
    }
    table_->event(table_->ctx, name, raw.data(), raw.size());
  }
  void event(const char* name, std::initializer_list<EventField> fields) const {
    event(name, std::span<const EventField>(fields.begin(), fields.size()));
  }
  /// A scalar that appears in the next train_step record.
  void metric(const char* name, double value) const { table_->metric(table_->ctx, name, value); }

  /* run */
  /// A seed that depends on run.seed, the plugin and `stream` alone.
  uint64_t rng_seed(const char* stream) const { return table_->rng_seed(table_->ctx, stream); }
  /// True when the run is ending: long operations stop soon.
  bool cancelled() const { return table_->cancelled(table_->ctx) != 0; }
  void throw_if_cancelled() const {
    if (cancelled()) {
      throw Fault(STC_ERROR_CANCELLED, "the run is ending");
    }
  }
  /// STC_DTYPE_* in which matrix products run.
  int32_t compute_dtype() const { return table_->compute_dtype(table_->ctx); }
  std::string run_dir() const { return table_->run_dir(table_->ctx); }
  /// A path of the configuration, made usable.
  std::string path_resolve(const std::string& path) const { return table_->path_resolve(table_->ctx, path.c_str()); }

  /// A named span on this thread for the trace; ends with the returned object. `name` is borrowed.
  class [[nodiscard]] Span {
   public:
    Span(const stc_host* table, const char* name) : table_(table), name_(name) { table_->trace(table_->ctx, name_, 1); }
    ~Span() { table_->trace(table_->ctx, name_, 0); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const stc_host* table_;
    const char* name_;
  };
  Span span(const char* name) const { return Span(table_, name); }

  /* threads, memory, device */
  /// Runs fn(begin, end) over [0, n) in chunks of at least `grain` on the host's threads. The first
  /// exception of a chunk is rethrown here once all have ended.
  template <class Fn>
  void parallel_for(int64_t n, int64_t grain, Fn&& fn) const {
    struct Call {
      std::remove_reference_t<Fn>* fn;
      std::atomic<bool> failed{false};
      std::exception_ptr error;
    } call{&fn, {}, {}};
    table_->parallel_for(
        table_->ctx, n, grain,
        [](void* arg, int64_t begin, int64_t end) noexcept {
          auto& c = *static_cast<Call*>(arg);
          try {
            (*c.fn)(begin, end);
          } catch (...) {
            if (!c.failed.exchange(true)) {
              c.error = std::current_exception();
            }
          }
        },
        &call);
    if (call.error) {
      std::rethrow_exception(call.error);
    }
  }

  struct MemoryDeleter {
    const stc_host* table;
    void operator()(void* memory) const { table->free(table->ctx, memory); }
  };
  using Memory = std::unique_ptr<void, MemoryDeleter>;
  /// Uninitialised memory. \param alignment a power of two. \param pinned page-locked for the
  /// device.
  Memory alloc(uint64_t bytes, uint64_t alignment = 64, bool pinned = false) const {
    void* memory = nullptr;
    check(table_->alloc(table_->ctx, bytes, alignment, pinned ? 1 : 0, &memory));
    return Memory(memory, MemoryDeleter{table_});
  }
  DeviceInfo device() const {
    stc_device_info raw{};
    raw.struct_size = sizeof raw;
    check(table_->device(table_->ctx, &raw));
    return DeviceInfo::from(raw);
  }
  /// The native stream of the run's device; null on the CPU.
  void* stream() const { return table_->stream(table_->ctx); }

  /* composition */
  /// Creates another plugin. Its errors name it, not this one.
  InnerPlugin create_inner(int32_t kind, const char* name, const stc_config* config) const {
    InnerPlugin inner;
    check(table_->create_inner(table_->ctx, kind, name, config, &inner.table, &inner.instance, &inner.plugin));
    return inner;
  }
  /// An extension of the host, "stc.host.<name>/<rev>"; null when it has none of that name.
  const void* extension(const char* id) const { return table_->get_extension(table_->ctx, id); }

  /// Throws what the host answered, as a Fault, and frees it. Null passes.
  void check(stc_error* error) const {
    if (error == nullptr) {
      return;
    }
    Fault fault = take(error);
    throw fault;
  }
  /// Reads and frees an error of the host.
  Fault take(stc_error* error) const {
    const char* message = table_->error_message(table_->ctx, error);
    Fault fault(table_->error_code(table_->ctx, error), message == nullptr ? "" : message);
    table_->error_free(table_->ctx, error);
    return fault;
  }

  /// The table itself, for what has no wrapper.
  const stc_host& raw() const { return *table_; }
  void* ctx() const { return table_->ctx; }

 private:
  const stc_host* table_;
};

/// A node of the checked configuration: an object or a list. Borrowed for the life of the plugin.
class Config {
 public:
  Config(Host host, const stc_config* node) : host_(host), node_(node) {}

  /// Null when the key is absent or null.
  Value get(const char* key) const {
    Value value;
    return find(key, value) ? value : Value();
  }
  /// False when the key is absent.
  bool find(const char* key, Value& out) const {
    stc_value raw{};
    if (stc_error* error = host_.raw().config_get(host_.ctx(), node_, key, &raw)) {
      const Fault fault = host_.take(error);
      if (fault.code() != STC_ERROR_NOT_FOUND) {
        throw fault;
      }
      return false;
    }
    out = Value(raw);
    return true;
  }
  uint64_t size() const { return host_.raw().config_size(host_.ctx(), node_); }
  /// Entry `index`; the key is empty in a list.
  std::pair<std::string_view, Value> at(uint64_t index) const {
    const char* key = nullptr;
    stc_value raw{};
    host_.check(host_.raw().config_at(host_.ctx(), node_, index, &key, &raw));
    return {key == nullptr ? std::string_view() : std::string_view(key), Value(raw)};
  }
  Config child(const Value& value) const { return Config(host_, value.as_node()); }
  const stc_config* raw() const { return node_; }

 private:
  Host host_;
  const stc_config* node_;
};

}  // namespace stc
