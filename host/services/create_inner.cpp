#include "host/services/create_inner.hpp"

#include "host/plugins/kinds.hpp"
#include "host/plugins/registry.hpp"

namespace stc::host {
namespace {

stc_error* with_name(stc_error* error, const LoadedPlugin& plugin) {
  const ErrorText text = take_error(error);
  return make_error(
      text.code,
      "plugin " + plugin.declaration.name + " (" + kind_name(plugin.declaration.kind) + "): create: " + text.message,
      text.key);
}

}  // namespace

stc_error* create_inner_plugin(RunContext* context, int kind, const char* name, const stc_config* config,
                               InnerPlugin& out) {
  if (name == nullptr || config == nullptr) {
    return make_error(STC_ERROR_INVALID_ARGUMENT, "create_inner: name and config must not be null");
  }
  if (context == nullptr || context->registry == nullptr) {
    return make_error(STC_ERROR_UNSUPPORTED, "create_inner: this host creates no inner plugins here");
  }
  const LoadedPlugin* plugin = nullptr;
  try {
    plugin = &context->registry->load(kind, name);
  } catch (const Error& error) {
    return make_error(STC_ERROR_NOT_FOUND, error.what());
  }
  auto services = std::make_unique<Services>(plugin->declaration.name, context);
  const InstanceSlots& slots = instance_slots(plugin->table);
  void* instance = nullptr;
  try {
    if (stc_error* error = slots.create(&services->table(), config, &instance)) return with_name(error, *plugin);
  } catch (...) {
    return with_name(make_error(STC_ERROR_INTERNAL, describe_current_exception()), *plugin);
  }
  if (instance == nullptr) {
    return with_name(make_error(STC_ERROR_INTERNAL, "returned neither an instance nor an error"), *plugin);
  }
  out = {std::move(services), plugin->table, instance, plugin->plugin};
  return nullptr;
}

}  // namespace stc::host
