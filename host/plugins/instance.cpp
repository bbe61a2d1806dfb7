#include "host/plugins/instance.hpp"

#include <utility>

namespace stc::host {
namespace {

std::string who(const LoadedPlugin& plugin) {
  return "plugin " + plugin.declaration.name + " (" + kind_name(plugin.declaration.kind) + ")";
}

}  // namespace

Instance::Instance(InstanceSpec spec)
    : spec_(std::move(spec)), services_(std::make_unique<Services>(spec_.plugin->declaration.name, spec_.context)) {}

Instance::~Instance() = default;

void Instance::check(stc_error* error, const char* slot) const {
  if (error == nullptr) return;
  const ErrorText text = take_error(error);
  const std::string message = text.message.empty() ? error_code_name(text.code) : text.message;
  switch (text.code) {
    case STC_ERROR_INVALID_CONFIG: {
      const std::string path = text.key.empty() ? spec_.section_name : spec_.section_name + "." + text.key;
      throw ConfigError(path + ": " + message, {}, spec_.config != nullptr ? spec_.config->where(path) : Location{});
    }
    case STC_ERROR_CANCELLED: throw Cancelled(who(*spec_.plugin) + ": " + slot + ": " + message);
    default: throw PluginError(who(*spec_.plugin) + ": " + slot + ": " + message);
  }
}

void Instance::throw_escaped(const char* slot) const {
  throw PluginError(who(*spec_.plugin) + ": " + slot + ": " + describe_current_exception());
}

}  // namespace stc::host
