#include "host/services/torch_services.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <omp.h>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/services/tensor_handle.hpp"
#include "host/services/torch_autograd.hpp"
#include "host/services/worker_pool.hpp"
#include "stc/core/dtype.hpp"

// Of MKL, where LibTorch is built with it: threads of the calling thread's products. \returns what it was, 0: none set.
extern "C" {
__attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);
}

namespace stc::host {
namespace {

/// No exception reaches a plugin.
template <class Body>
stc_error* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const c10::OutOfMemoryError& error) {
    return make_error(STC_ERROR_OUT_OF_MEMORY, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    return make_error(STC_ERROR_TORCH, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  } catch (...) {
    return make_error(STC_ERROR_INTERNAL, describe_current_exception());
  }
}

int32_t device_type_code(const at::Device& device) {
  if (device.is_cpu()) return STC_DEVICE_CPU;
  if (device.is_cuda()) return STC_DEVICE_CUDA;
  if (device.is_mps()) return STC_DEVICE_MPS;
  return STC_DEVICE_OTHER;
}

stc_error* tensor_info(void*, stc_tensor handle, stc_tensor_info* out) {
  if (handle == nullptr || out == nullptr || out->struct_size < STC_SIZE_TO_END(stc_tensor_info, is_contiguous)) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_info: tensor and out must be given, out's struct_size set");
  }
  return guarded([&]() -> stc_error* {
    const at::Tensor& tensor = to_tensor(handle);
    if (!tensor.defined()) return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_info: the tensor is undefined");
    if (tensor.layout() != at::kStrided) {
      return make_error(STC_ERROR_UNSUPPORTED, std::string("tensor_info: layout ") +
                                                   (tensor.is_sparse() ? "sparse" : "other than strided") +
                                                   ", only dense tensors have an address");
    }
    stc_tensor_info info{};
    info.struct_size = out->struct_size;
    info.dtype = find_stc_dtype(tensor.scalar_type());
    if (info.dtype == 0) {
      return make_error(STC_ERROR_UNSUPPORTED,
                        std::string("tensor_info: dtype ") + c10::toString(tensor.scalar_type()) + " has no code here");
    }
    info.ndim = static_cast<int32_t>(tensor.dim());
    info.sizes = tensor.sizes().data();
    info.strides = tensor.strides().data();
    info.data = tensor.data_ptr();
    info.device_type = device_type_code(tensor.device());
    info.device_index = tensor.device().index();
    info.requires_grad = tensor.requires_grad() ? 1 : 0;
    info.is_contiguous = tensor.is_contiguous() ? 1 : 0;
    std::memcpy(out, &info, std::min<size_t>(out->struct_size, sizeof info));
    return nullptr;
  });
}

stc_error* tensor_from_buffer(void*, const stc_buffer* buffer, void (*release)(void*), void* arg, stc_tensor* out) {
  if (buffer == nullptr || out == nullptr || buffer->ndim < 0 || (buffer->ndim > 0 && buffer->sizes == nullptr)) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_from_buffer: buffer with sizes, and out, must be given");
  }
  return guarded([&]() -> stc_error* {
    const at::IntArrayRef sizes(buffer->sizes, static_cast<size_t>(buffer->ndim));
    uint64_t needed = dtype_size(buffer->dtype);
    if (needed == 0) {
      return make_error(STC_ERROR_INVALID_ARGUMENT,
                        "tensor_from_buffer: dtype code " + std::to_string(buffer->dtype) + " is unknown");
    }
    for (const int64_t size : sizes) {
      if (size < 0) return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_from_buffer: a size is negative");
      if (__builtin_mul_overflow(needed, static_cast<uint64_t>(size), &needed)) {
        return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_from_buffer: the sizes overflow");
      }
    }
    if (needed > buffer->bytes || (buffer->data == nullptr && needed > 0)) {
      return make_error(STC_ERROR_INVALID_ARGUMENT, "tensor_from_buffer: " + std::to_string(buffer->bytes) +
                                                        " bytes, the shape needs " + std::to_string(needed));
    }
    const auto options = at::TensorOptions().dtype(to_scalar_type(buffer->dtype));
    at::Tensor tensor = release != nullptr ? at::from_blob(
                                                 buffer->data, sizes, [release, arg](void*) { release(arg); }, options)
                                           : at::from_blob(buffer->data, sizes, options);
    *out = to_handle(std::move(tensor));
    return nullptr;
  });
}

void tensor_delete(void*, stc_tensor handle) { delete_handle(handle); }

/// Scalar, alone or inside Optional and List: LibTorch's C shim cannot carry it.
bool holds_scalar(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::NumberType) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const c10::TypePtr& t) { return holds_scalar(t); });
}

/// Types in order, of arguments and of results; names, defaults and alias marks may differ.
bool same_types(const std::vector<c10::Argument>& a, const std::vector<c10::Argument>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return *x.type() == *y.type(); });
}

stc_error* operator_check(void*, const char* text) {
  if (text == nullptr) return make_error(STC_ERROR_INVALID_ARGUMENT, "operator_check: no schema given");
  return guarded([&]() -> stc_error* {
    std::optional<c10::FunctionSchema> wanted;
    try {
      wanted = torch::jit::parseSchema(text);
    } catch (const std::exception&) {
      return make_error(STC_ERROR_INVALID_ARGUMENT, std::string("operator schema cannot be read: ") + text);
    }
    const auto found = c10::Dispatcher::singleton().findSchema(wanted->operator_name());
    const std::string name = c10::toString(wanted->operator_name());
    if (!found) {
      return make_error(STC_ERROR_NOT_FOUND,
                        "operator " + name + ": this LibTorch has none of that name, the plugin calls " + text);
    }
    const c10::FunctionSchema& have = found->schema();
    if (!same_types(wanted->arguments(), have.arguments()) || !same_types(wanted->returns(), have.returns())) {
      return make_error(STC_ERROR_UNSUPPORTED, "operator " + name + ": this LibTorch has " + c10::toString(have) +
                                                   ", the plugin calls " + text);
    }
    for (const c10::Argument& argument : have.arguments()) {
      if (holds_scalar(argument.type())) {
        return make_error(STC_ERROR_UNSUPPORTED, "operator " + name + ": argument " + argument.name() +
                                                     " is a Scalar, which cannot cross; use namespace stc's operator");
      }
    }
    return nullptr;
  });
}

/// LibTorch's own loops and products on one thread: within a loop of ours the other threads are at work already.
class AloneInLoop {
 public:
  AloneInLoop() : threads_(omp_get_max_threads()) {
    omp_set_num_threads(1);
    if (&MKL_Set_Num_Threads_Local != nullptr) library_threads_ = MKL_Set_Num_Threads_Local(1);
  }
  ~AloneInLoop() {
    if (&MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(library_threads_);
    omp_set_num_threads(threads_);
  }
  AloneInLoop(const AloneInLoop&) = delete;
  AloneInLoop& operator=(const AloneInLoop&) = delete;

 private:
  int threads_, library_threads_ = 0;
};

thread_local bool in_loop = false;

/// Of so many threads, the caller included. Lives until the process ends: its workers may sleep then.
WorkerPool& pool_of(int threads) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<WorkerPool>>& pools = *new std::vector<std::unique_ptr<WorkerPool>>();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& pool : pools) {
    if (pool->workers() == threads - 1) return *pool;
  }
  pools.push_back(std::make_unique<WorkerPool>(threads - 1, [] {
    in_loop = true;
    // LibTorch sets a thread's count when the thread first asks for it: after this, so that it does not undo
    // AloneInLoop.
    at::get_num_threads();
    static thread_local AloneInLoop for_good;
  }));
  return *pools.back();
}

/// Chunks as at::parallel_for cuts them.
void parallel_for(void*, int64_t n, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* arg) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int all = in_loop || n <= grain ? 1 : at::get_num_threads();
  const int64_t threads = std::min<int64_t>(all, (n + grain - 1) / grain);
  if (threads <= 1) return fn(arg, 0, n);
  const AloneInLoop alone;
  in_loop = true;
  pool_of(all).run(n, (n + threads - 1) / threads, fn, arg);
  in_loop = false;
}

/// Page-locked blocks by address; ordinary ones are not listed.
struct PinnedBlocks {
  std::mutex mutex;
  std::unordered_map<void*, at::Tensor> tensors;
};
PinnedBlocks& pinned_blocks() {
  static auto& blocks = *new PinnedBlocks();  // may be used until the process ends
  return blocks;
}

stc_error* alloc(void*, uint64_t bytes, uint64_t alignment, int32_t pinned, void** out) {
  if (pinned == 0) {
    const uint64_t step = std::max<uint64_t>(alignment, sizeof(void*));
    if (bytes > UINT64_MAX - step) return make_error(STC_ERROR_OUT_OF_MEMORY, "alloc: out of memory");
    *out = std::aligned_alloc(step, std::max<uint64_t>((bytes + step - 1) / step * step, step));
    if (*out != nullptr) return nullptr;
    return make_error(STC_ERROR_OUT_OF_MEMORY, "alloc: no memory for " + std::to_string(bytes) + " bytes");
  }
  return guarded([&]() -> stc_error* {
    if (bytes > INT64_MAX - alignment) return make_error(STC_ERROR_OUT_OF_MEMORY, "alloc: out of memory");
    at::Tensor tensor;
    try {
      tensor = at::empty({static_cast<int64_t>(bytes + alignment)},
                         at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    } catch (const c10::Error& error) {
      return make_error(STC_ERROR_UNSUPPORTED,
                        std::string("alloc: no pinned memory: ") + error.what_without_backtrace());
    }
    const auto address = reinterpret_cast<uintptr_t>(tensor.data_ptr());
    *out = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
    const std::lock_guard lock(pinned_blocks().mutex);
    pinned_blocks().tensors.emplace(*out, std::move(tensor));
    return nullptr;
  });
}

void free_memory(void*, void* memory) {
  if (memory == nullptr) return;
  {
    const std::lock_guard lock(pinned_blocks().mutex);
    if (pinned_blocks().tensors.erase(memory) > 0) return;
  }
  std::free(memory);
}

}  // namespace

void install_torch_services() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_torch_operators();
    TorchSlots& slots = torch_slots();
    slots.tensor_info = &tensor_info;
    slots.tensor_from_buffer = &tensor_from_buffer;
    slots.tensor_delete = &tensor_delete;
    slots.operator_check = &operator_check;
    slots.autograd_apply = &autograd_apply;
    slots.parallel_for = &parallel_for;
    slots.alloc = &alloc;
    slots.free = &free_memory;
  });
}

}  // namespace stc::host
