// The stc_host table. Nothing here throws into a plugin: what fails becomes an error or a log line.

#include "host/services/services.hpp"

#include <cxxabi.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "host/services/config_values.hpp"
#include "host/services/create_inner.hpp"

namespace stc::host {

TorchSlots& torch_slots() {
  static TorchSlots slots;
  return slots;
}

std::string describe_current_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    // LibTorch's errors carry their stack behind the message; a user needs the message.
    const std::string text = error.what();
    return text.substr(0, text.find("\nException raised from "));
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "an exception of unknown type";
    int status = 0;
    char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    std::string text = std::string("an exception of type ") + (status == 0 ? name : type->name());
    std::free(name);
    return text;
  }
}

/// The slots of the table; ctx is the Services object of the plugin instance.
struct ServiceFunctions {
  static Services& self(void* ctx) { return *static_cast<Services*>(ctx); }
  static RunContext* run(void* ctx) { return self(ctx).context_; }

  static stc_error* error_new(void*, int32_t code, const char* message) noexcept try {
    return make_error(code, message != nullptr ? message : "");
  } catch (...) {
    return out_of_memory_error();
  }
  static stc_error* error_new_config(void*, const char* key, const char* message) noexcept try {
    return make_error(STC_ERROR_INVALID_CONFIG, message != nullptr ? message : "", key != nullptr ? key : "");
  } catch (...) {
    return out_of_memory_error();
  }
  static void error_free(void*, stc_error* error) noexcept { free_error(error); }
  static int32_t error_code(void*, const stc_error* error) noexcept { return host::error_code(error); }
  static const char* error_message(void*, const stc_error* error) noexcept { return host::error_message(error); }

  static int32_t log_level(void* ctx) noexcept {
    return run(ctx) != nullptr ? run(ctx)->log_level.load(std::memory_order_relaxed) : STC_LOG_INFO;
  }
  static void log(void* ctx, int32_t level, const char* message) noexcept try {
    if (message == nullptr || level < log_level(ctx)) return;
    const RunContext* context = run(ctx);
    if (context != nullptr && context->log) {
      context->log(level, self(ctx).name_, message);
    } else {
      const char* word = level >= STC_LOG_ERROR ? "error" : level >= STC_LOG_WARNING ? "warning" : "note";
      std::fprintf(stderr, "%s: plugin %s: %s\n", word, self(ctx).name_.c_str(), message);
    }
  } catch (...) {
    // A log that cannot be written is not the plugin's fault.
  }
  static void event(void* ctx, const char* name, const stc_field* fields, uint64_t num_fields) noexcept try {
    const RunContext* context = run(ctx);
    if (name == nullptr || (fields == nullptr && num_fields > 0)) return;
    if (context != nullptr && context->event) context->event(name, fields, num_fields);
  } catch (...) {
    log(ctx, STC_LOG_WARNING, "an event was lost: the host could not queue it");
  }
  static void metric(void* ctx, const char* name, double value) noexcept try {
    RunContext* context = run(ctx);
    if (context == nullptr || name == nullptr) return;
    const std::lock_guard lock(context->metrics_mutex);
    context->metrics[name] = value;
  } catch (...) {
    log(ctx, STC_LOG_WARNING, "a metric was lost: out of memory");
  }

  /// XXH64 of the stream's name, seeded with run.seed: the same on every machine and in every
  /// version.
  static uint64_t rng_seed(void* ctx, const char* stream) noexcept {
    const uint64_t seed = run(ctx) != nullptr ? run(ctx)->seed : 0;
    const char* name = stream != nullptr ? stream : "";
    return XXH64(name, std::strlen(name), seed);
  }
  static int32_t cancelled(void* ctx) noexcept {
    const RunContext* context = run(ctx);
    if (context == nullptr) return 0;
    return context->cancelled.load(std::memory_order_relaxed) || context->stop_signal.load() != 0 ? 1 : 0;
  }
  static int32_t compute_dtype(void* ctx) noexcept {
    return run(ctx) != nullptr ? run(ctx)->compute_dtype.load(std::memory_order_relaxed) : STC_DTYPE_FLOAT32;
  }
  static void trace(void* ctx, const char* name, int32_t phase) noexcept {
    const RunContext* context = run(ctx);
    if (context != nullptr && context->trace && name != nullptr) context->trace(name, phase != 0);
  }
  static void stage_begin(void* ctx, const char* stage) noexcept { tell_stage(ctx, stage, true); }
  static void stage_end(void* ctx, const char* stage) noexcept { tell_stage(ctx, stage, false); }
  static void tell_stage(void* ctx, const char* stage, bool begin) noexcept try {
    const RunContext* context = run(ctx);
    if (context != nullptr && context->stage && stage != nullptr) context->stage(stage, begin);
  } catch (...) {
    log(ctx, STC_LOG_WARNING, ("stage " + std::string(stage) + ": " + describe_current_exception()).c_str());
  }

  static const char* run_dir(void* ctx) noexcept { return run(ctx) != nullptr ? run(ctx)->run_dir.c_str() : ""; }
  static const char* path_resolve(void*, const char* path) noexcept {
    thread_local std::string resolved;
    try {
      resolved = path == nullptr ? "" : std::filesystem::absolute(path).lexically_normal().string();
    } catch (...) {
      resolved.clear();  // the working directory is gone, or there is no memory
      return path != nullptr ? path : "";
    }
    return resolved.c_str();
  }

  static stc_error* alloc(void* ctx, uint64_t bytes, uint64_t alignment, int32_t pinned, void** out) noexcept {
    if (out == nullptr || alignment == 0 || (alignment & (alignment - 1)) != 0) {
      return make_error(STC_ERROR_INVALID_ARGUMENT,
                        "alloc: alignment " + std::to_string(alignment) + ", must be a power of two, and out not null");
    }
    if (torch_slots().alloc != nullptr) return torch_slots().alloc(ctx, bytes, alignment, pinned, out);
    if (pinned != 0) return make_error(STC_ERROR_UNSUPPORTED, "alloc: this host has no pinned memory");
    const uint64_t step = std::max<uint64_t>(alignment, sizeof(void*));
    if (bytes > UINT64_MAX - step) return make_error(STC_ERROR_OUT_OF_MEMORY, "alloc: out of memory");
    *out = std::aligned_alloc(step, std::max<uint64_t>((bytes + step - 1) / step * step, step));
    if (*out != nullptr) return nullptr;
    return make_error(STC_ERROR_OUT_OF_MEMORY, "alloc: no memory for " + std::to_string(bytes) + " bytes");
  }
  static void free(void* ctx, void* memory) noexcept {
    if (torch_slots().free != nullptr) return torch_slots().free(ctx, memory);
    std::free(memory);
  }
  static void parallel_for(void* ctx, int64_t n, int64_t grain, void (*fn)(void*, int64_t, int64_t),
                           void* arg) noexcept {
    if (n <= 0 || fn == nullptr) return;
    if (torch_slots().parallel_for != nullptr) return torch_slots().parallel_for(ctx, n, grain, fn, arg);
    fn(arg, 0, n);
  }
  static stc_error* device(void* ctx, stc_device_info* out) noexcept {
    if (out == nullptr || out->struct_size < offsetof(stc_device_info, index)) {
      return make_error(STC_ERROR_INVALID_ARGUMENT, "device: out must not be null, its struct_size set");
    }
    stc_device_info info{};
    if (run(ctx) != nullptr && run(ctx)->device.type != 0) {
      info = run(ctx)->device;
    } else {
      info.type = STC_DEVICE_CPU;
      info.index = -1;
      info.num_threads = static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency()));
      info.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
    info.struct_size = out->struct_size;
    std::memcpy(out, &info, std::min<size_t>(out->struct_size, sizeof info));
    return nullptr;
  }
  static void* stream(void* ctx) noexcept {
    return torch_slots().stream != nullptr ? torch_slots().stream(ctx) : nullptr;
  }

  static stc_error* create_inner(void* ctx, int32_t kind, const char* name, const stc_config* config,
                                 const void** out_table, void** out_instance, const stc_plugin** out_plugin) noexcept
      try {
    InnerPlugin inner;
    if (stc_error* error = create_inner_plugin(run(ctx), kind, name, config, inner)) return error;
    *out_table = inner.table;
    *out_instance = inner.instance;
    if (out_plugin != nullptr) *out_plugin = inner.plugin;
    const std::lock_guard lock(self(ctx).inner_mutex_);
    self(ctx).inner_.push_back(std::move(inner.services));
    return nullptr;
  } catch (...) {
    return make_error(STC_ERROR_INTERNAL, "create_inner: " + describe_current_exception());
  }
  static const void* get_extension(void*, const char*) noexcept { return nullptr; }

  static void fill(stc_host& table, Services* services);
};

void ServiceFunctions::fill(stc_host& table, Services* services) {
  table.struct_size = sizeof(stc_host);
  table.ctx = services;
  table.error_new = error_new;
  table.error_new_config = error_new_config;
  table.error_free = error_free;
  table.error_code = error_code;
  table.error_message = error_message;
  table.log = log;
  table.log_level = log_level;
  table.event = event;
  table.metric = metric;
  table.config_get = config_get;
  table.config_size = config_size;
  table.config_at = config_at;
  table.tensor_info = torch_slots().tensor_info;
  table.tensor_from_buffer = torch_slots().tensor_from_buffer;
  table.tensor_delete = torch_slots().tensor_delete;
  table.operator_check = torch_slots().operator_check;
  table.autograd_apply = torch_slots().autograd_apply;
  table.rng_seed = rng_seed;
  table.cancelled = cancelled;
  table.trace = trace;
  table.compute_dtype = compute_dtype;
  table.stage_begin = stage_begin;
  table.stage_end = stage_end;
  table.run_dir = run_dir;
  table.path_resolve = path_resolve;
  table.alloc = alloc;
  table.free = free;
  table.parallel_for = parallel_for;
  table.device = device;
  table.stream = stream;
  table.create_inner = create_inner;
  table.get_extension = get_extension;
}

Services::Services(std::string plugin_name, RunContext* context) : name_(std::move(plugin_name)), context_(context) {
  ServiceFunctions::fill(table_, this);
}

Services::~Services() = default;

const stc_config* Services::config_node(const Value& value) { return as_config(value); }

const stc_host& process_host() {
  static Services* services = new Services("host", nullptr);  // lives for the process
  return services->table();
}

}  // namespace stc::host
