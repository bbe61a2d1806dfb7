/// \file
/// LibTorch's default CPU generator, saved and restored as bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace stc::host {

/// Seeds the default generators of all devices.
void seed_generators(uint64_t seed);
/// State of the default CPU generator: a byte tensor.
at::Tensor current_rng_state();
std::string rng_state_to_hex(const at::Tensor& state);
/// \throws CheckpointError when the text is not a state of this LibTorch's generator.
void restore_rng_state(const std::string& hex);

/// Puts the default generators of the CPU and of a device back where they were at construction.
class GeneratorGuard {
 public:
  explicit GeneratorGuard(const at::Device& device);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

}  // namespace stc::host
