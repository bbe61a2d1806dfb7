#include "host/app/instance_spec.hpp"

#include <utility>

namespace stc::host {

InstanceSpec instance_spec(Registry& registry, RunContext& context, const Config& config, int kind,
                           const std::string& name, const std::string& section) {
  Value keys = config.plugin_section(registry.load(kind, name).declaration, section);
  return instance_spec(registry, context, config, kind, name, std::move(keys), section);
}

InstanceSpec instance_spec(Registry& registry, RunContext& context, const Config& config, int kind,
                           const std::string& name, Value keys, const std::string& section_name) {
  InstanceSpec spec;
  spec.plugin = &registry.load(kind, name);
  spec.section = std::move(keys);
  spec.section_name = section_name;
  spec.context = &context;
  spec.config = &config;
  return spec;
}

}  // namespace stc::host
