#include "host/train/rng_state.hpp"

#include <cstring>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include "host/encoding/hex.hpp"
#include "host/errors/error.hpp"

namespace stc::host {

void seed_generators(uint64_t seed) { at::manual_seed(seed); }

at::Tensor current_rng_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

std::string rng_state_to_hex(const at::Tensor& state) {
  return to_hex({static_cast<const char*>(state.const_data_ptr()), state.nbytes()});
}

void restore_rng_state(const std::string& hex) {
  const std::string bytes = from_hex(hex, "state.json: rng.cpu");
  at::Tensor state = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::memcpy(state.mutable_data_ptr(), bytes.data(), bytes.size());
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  try {
    generator.set_state(state);
  } catch (const c10::Error& error) {
    throw CheckpointError("state.json: rng.cpu: " + std::string(error.what_without_backtrace()),
                          "the checkpoint was written with another LibTorch");
  }
}

GeneratorGuard::GeneratorGuard(const at::Device& device) {
  states_.emplace_back(at::kCPU, current_rng_state());
  if (device.is_cpu()) return;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  states_.emplace_back(device, generator.get_state());
}

GeneratorGuard::~GeneratorGuard() {
  for (const auto& [device, state] : states_) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(state);
  }
}

}  // namespace stc::host
