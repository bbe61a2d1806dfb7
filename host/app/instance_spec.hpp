/// \file
/// A plugin about to be created, from the configuration.
#pragma once

#include <string>

#include "host/plugins/instance.hpp"

namespace stc::host {

/// The plugin `name` of a kind with its own keys of `section`. registry, context and config outlive
/// the instance. \throws PluginError when there is no such plugin or it cannot be loaded.
InstanceSpec instance_spec(Registry& registry, RunContext& context, const Config& config, int kind,
                           const std::string& name, const std::string& section);

/// The same with keys that were checked elsewhere; section_name is for messages.
InstanceSpec instance_spec(Registry& registry, RunContext& context, const Config& config, int kind,
                           const std::string& name, Value keys, const std::string& section_name);

}  // namespace stc::host
