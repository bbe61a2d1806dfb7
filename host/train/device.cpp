#include "host/train/device.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>

namespace stc::host {
namespace {

/// True where the CPU multiplies bf16 in hardware (AVX512-BF16 or AMX).
bool cpu_has_bf16() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

Device make_cpu() {
  Device device{"cpu", {}};
  device.info.type = STC_DEVICE_CPU;
  device.info.index = -1;
  device.info.bf16 = cpu_has_bf16() ? 1 : 0;
  return device;
}

Device make_cuda(int index) {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  Device device{"cuda:" + std::to_string(index), {}};
  device.info.type = STC_DEVICE_CUDA;
  device.info.index = index;
  device.info.fp16 = 1;
  // LibTorch answers this from the compute capability (8.0 and newer), which nothing else in the
  // device-neutral interface tells.
  device.info.bf16 = hooks.supportsBFloat16RNNWithCuDNN() ? 1 : 0;
  return device;
}

[[noreturn]] void absent(const Config& config, const std::string& wish, const std::string& found) {
  throw ConfigError("run.device: got " + wish + ", but " + found, "use auto or cpu, or a LibTorch built for the device",
                    config.where("run.device"));
}

}  // namespace

Device resolve_device(const Config& config, const std::string& wish) {
  const int64_t cuda_devices = at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
  Device device = make_cpu();
  if (wish == "cuda" || wish.rfind("cuda:", 0) == 0) {
    const int index = wish == "cuda" ? 0 : std::stoi(wish.substr(5));
    if (cuda_devices == 0) absent(config, wish, "LibTorch sees no CUDA device");
    if (index >= cuda_devices) {
      absent(config, wish, "there are " + std::to_string(cuda_devices) + " CUDA devices");
    }
    device = make_cuda(index);
  } else if (wish == "mps" && !at::hasMPS()) {
    absent(config, wish, "LibTorch sees no MPS device");
  } else if (wish == "auto" && cuda_devices > 0) {
    device = make_cuda(0);
  } else if (wish == "mps" || (wish == "auto" && at::hasMPS())) {
    device = Device{"mps", {}};
    device.info.type = STC_DEVICE_MPS;
    device.info.index = -1;
  }
  device.info.struct_size = sizeof(device.info);
  device.info.num_threads = at::get_num_threads();
  return device;
}

int set_threads(std::optional<int64_t> threads) {
  if (threads) at::set_num_threads(static_cast<int>(*threads));
  return at::get_num_threads();
}

}  // namespace stc::host
