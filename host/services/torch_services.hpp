/// \file
/// The services that need LibTorch.
#pragma once

namespace stc::host {

/// Fills torch_slots() and registers the operators of namespace stc. Once, before the first plugin is
/// loaded; later calls do nothing. \throws c10::Error when another library owns namespace stc.
void install_torch_services();

/// Registers the operators of namespace stc (docs: stc/stable/ops.hpp). Part of install_torch_services.
void register_torch_operators();

}  // namespace stc::host
