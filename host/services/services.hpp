/// \file
/// The stc_host table: the services that plugins call. One Services object a plugin instance.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "stc/abi/host.h"
#include "stc/abi/plugin.h"

#include "host/config/config.hpp"

namespace stc::host {

class Registry;

/// State of a run that the services answer from. Outlives every instance. Members marked atomic may
/// be read on any thread; the rest is constant after composition.
struct RunContext {
  uint64_t seed = 0;
  std::string run_dir;
  Registry* registry = nullptr;
  const Config* config = nullptr;
  stc_device_info device{};
  std::atomic<int> compute_dtype{STC_DTYPE_FLOAT32};
  std::atomic<bool> cancelled{false};
  /// The signal that asked the run to end (0: none). The trainer finishes its step and saves; waits
  /// (for data, for other nodes) end at once.
  std::atomic<int> stop_signal{0};
  std::atomic<int> log_level{STC_LOG_INFO};
  /// Where log lines and events of plugins go; set by compose, may be empty. Thread-safe callables.
  std::function<void(int level, const std::string& plugin, const std::string& message)> log;
  std::function<void(const std::string& name, const stc_field* fields, uint64_t n)> event;
  /// Told the begin (true) and end of named spans, on any thread; empty unless a trace is recorded.
  /// Constant after composition.
  std::function<void(const char* name, bool begin)> trace;
  /// Told the begin and end of a model's stages; empty unless out-of-order backprop is on. [train-thread]
  std::function<void(const char* stage, bool begin)> stage;
  /// Scalars of plugins for the next record; guarded by metrics_mutex.
  std::mutex metrics_mutex;
  std::map<std::string, double> metrics;
};

/// Slots that need LibTorch, filled by host/services/torch_services.cpp (install_torch_services)
/// when the training half is loaded; null in programs without it.
struct TorchSlots {
  stc_error* (*tensor_info)(void*, stc_tensor, stc_tensor_info*) = nullptr;
  stc_error* (*tensor_from_buffer)(void*, const stc_buffer*, void (*)(void*), void*, stc_tensor*) = nullptr;
  void (*tensor_delete)(void*, stc_tensor) = nullptr;
  stc_error* (*operator_check)(void*, const char*) = nullptr;
  stc_error* (*autograd_apply)(void*, const stc_autograd_function*, void*, const stc_tensor*, uint32_t, stc_tensor*,
                               uint32_t) = nullptr;
  void (*parallel_for)(void*, int64_t, int64_t, void (*)(void*, int64_t, int64_t), void*) = nullptr;
  stc_error* (*alloc)(void*, uint64_t, uint64_t, int32_t, void**) = nullptr;
  void (*free)(void*, void*) = nullptr;
  void* (*stream)(void*) = nullptr;
};
TorchSlots& torch_slots();

/// An error as the host allocates it.
stc_error* make_error(int code, const std::string& message, const std::string& key = {});
struct ErrorText {
  int code = 0;
  std::string message;
  std::string key;  // INVALID_CONFIG: the key at fault
};
/// The one that exists before it is needed; never freed.
stc_error* out_of_memory_error() noexcept;
/// Reads and frees. Null gives code 0.
ErrorText take_error(stc_error* error);
void free_error(stc_error* error);
int error_code(const stc_error* error);
/// Lives as long as the error.
const char* error_message(const stc_error* error);
/// "INVALID_ARGUMENT", ...; "UNKNOWN" for a code of no name.
const char* error_code_name(int code);

/// Turns the exception in flight (inside a catch) into one line: its what(), or "an exception of
/// type T".
std::string describe_current_exception();

class Services {
 public:
  /// plugin_name labels log lines. context may be null (entry, checks).
  Services(std::string plugin_name, RunContext* context);
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  const stc_host& table() const { return table_; }
  /// A config node over a value that outlives this object.
  const stc_config* config_node(const Value& value);
  RunContext* context() const { return context_; }
  const std::string& plugin_name() const { return name_; }

 private:
  friend struct ServiceFunctions;
  std::string name_;
  RunContext* context_;
  stc_host table_{};
  std::mutex inner_mutex_;
  /// Services of the plugins that this one created; their tables live as long as this one's.
  std::vector<std::unique_ptr<Services>> inner_;
};

/// The table given to library entries; lives for the process.
const stc_host& process_host();

}  // namespace stc::host
