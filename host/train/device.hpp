/// \file
/// The device of a run.
#pragma once

#include <string>

#include "host/config/config.hpp"
#include "stc/abi/host.h"

namespace stc::host {

struct Device {
  std::string name;  // "cpu", "cuda:0", "mps"
  stc_device_info info{};
};

/// Resolves run.device: auto is cuda, then mps, then cpu.
/// \throws ConfigError when an explicit device is not there.
Device resolve_device(const Config& config, const std::string& wish);

/// Sets LibTorch's number of CPU threads; nullopt leaves its own choice. Returns the number in force.
int set_threads(std::optional<int64_t> threads);

}  // namespace stc::host
