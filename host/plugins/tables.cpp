#include "host/plugins/tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "stc/version.hpp"

#include "host/errors/error.hpp"
#include "host/plugins/kinds.hpp"
#include "host/services/services.hpp"

namespace stc::host {
namespace {

constexpr const char* kRebuildHint = "rebuild it against stc-sdk " STC_VERSION " (docs/guide/plugins.md)";
constexpr uint32_t kMostPlugins = 1024;
constexpr uint32_t kMostParams = 4096;
constexpr uint32_t kMostSchemas = 65536;

[[noreturn]] void refuse(const PluginNote& note, const std::string& why, const std::string& hint = kRebuildHint) {
  throw PluginError("plugin " + note.path + ": " + why, hint);
}

uint32_t checked_size(const PluginNote& note, const void* theirs, uint32_t first_size, const std::string& what) {
  if (theirs == nullptr) refuse(note, what + " is null");
  uint32_t size = 0;
  std::memcpy(&size, theirs, sizeof size);
  if (size < first_size || size > STC_MAX_STRUCT_SIZE) {
    refuse(note, what + " has struct_size " + std::to_string(size) + ", wanted " + std::to_string(first_size) + " to " +
                     std::to_string(STC_MAX_STRUCT_SIZE));
  }
  return size;
}

template <class Struct>
Struct import_struct(const PluginNote& note, const void* theirs, uint32_t first_size, const std::string& what) {
  const uint32_t size = checked_size(note, theirs, first_size, what);
  Struct ours{};
  std::memcpy(&ours, theirs, std::min<size_t>(size, sizeof ours));
  return ours;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

Param import_param(const PluginNote& note, const stc_param& raw, const std::string& owner) {
  if (raw.name == nullptr || raw.name[0] == '\0') refuse(note, owner + ": a parameter has no name");
  const std::string what = owner + ": parameter " + raw.name;
  if (raw.type < STC_PARAM_INT || raw.type > STC_PARAM_STRING_LIST) {
    refuse(note, what + " has type " + std::to_string(raw.type) + ", this host knows 1 to 10", "use a newer stc-host");
  }
  Param param;
  param.name = raw.name;
  param.type = raw.type;
  param.flags = raw.flags;
  if (raw.default_text != nullptr) param.default_text = raw.default_text;
  param.min = raw.min;
  param.max = raw.max;
  for (const char* const* value = raw.enum_values; value != nullptr && *value != nullptr; ++value) {
    param.enum_values.emplace_back(*value);
  }
  param.doc = text_or_empty(raw.doc);
  param.since = text_or_empty(raw.since);
  param.deprecated = text_or_empty(raw.deprecated);
  if (param.type == STC_PARAM_ENUM && param.enum_values.empty()) refuse(note, what + " is an enum without values");
  if ((param.flags & STC_PARAM_REQUIRED) != 0 && param.default_text) {
    refuse(note, what + " is required and has a default");
  }
  const unsigned both = STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX;
  if ((param.flags & both) == both && !(param.min <= param.max)) refuse(note, what + " has min > max");
  return param;
}

std::vector<Param> import_params(const PluginNote& note, const stc_plugin& plugin, const std::string& owner) {
  constexpr uint32_t kFirst = STC_SIZE_TO_END(stc_param, deprecated);
  std::vector<Param> params;
  if (plugin.num_params == 0) return params;
  if (plugin.num_params > kMostParams || plugin.params == nullptr || plugin.param_stride < kFirst ||
      plugin.param_stride > STC_MAX_STRUCT_SIZE || plugin.param_stride % alignof(stc_param) != 0) {
    refuse(note, owner + ": " + std::to_string(plugin.num_params) + " parameters of " +
                     std::to_string(plugin.param_stride) + " bytes" + (plugin.params == nullptr ? " at null" : "") +
                     ", wanted at most " + std::to_string(kMostParams) + " of at least " + std::to_string(kFirst) +
                     " bytes");
  }
  for (uint32_t i = 0; i < plugin.num_params; ++i) {
    const auto* theirs = reinterpret_cast<const char*>(plugin.params) + size_t{i} * plugin.param_stride;
    const std::string what = owner + ": parameter " + std::to_string(i);
    if (checked_size(note, theirs, kFirst, what) > plugin.param_stride) {
      refuse(note, what + " is larger than the stride of its array");
    }
    Param param = import_param(note, import_struct<stc_param>(note, theirs, kFirst, what), owner);
    const bool twice = std::any_of(params.begin(), params.end(), [&](const Param& p) { return p.name == param.name; });
    if (twice) refuse(note, owner + ": declares parameter " + param.name + " twice");
    params.push_back(std::move(param));
  }
  return params;
}

using TableStorage = std::unique_ptr<std::max_align_t[]>;

/// A copy of the kind's table, zeroed where theirs ends.
TableStorage import_table(const PluginNote& note, const KindTable& kind, const void* theirs, const std::string& owner) {
  const uint32_t size = checked_size(note, theirs, kind.first_size, owner + ": its table");
  const size_t units = (kind.size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  auto storage = std::make_unique<std::max_align_t[]>(units);
  std::memset(storage.get(), 0, units * sizeof(std::max_align_t));
  std::memcpy(storage.get(), theirs, std::min(size, kind.size));

  const auto given = [&](const char* name) {
    for (const Slot& slot : kind.slots) {
      if (std::strcmp(slot.name, name) == 0) return slot_pointer(storage.get(), slot) != nullptr;
    }
    return false;
  };
  for (const Slot& slot : kind.slots) {
    if (slot.required && slot_pointer(storage.get(), slot) == nullptr) {
      refuse(note, owner + ": required slot " + slot.name + " is null",
             "implement it and rebuild (docs/guide/plugins.md)");
    }
  }
  for (const SlotRule& rule : kind.rules) {
    if (rule.slot != nullptr && !given(rule.slot)) continue;
    if (given(rule.needs) || (rule.or_else != nullptr && given(rule.or_else))) continue;
    std::string why = owner + ": ";
    why += rule.or_else != nullptr
               ? std::string("slots ") + rule.needs + " and " + rule.or_else + " are both null, one of them is required"
               : std::string("slot ") + rule.needs + " is null, required with " + rule.slot;
    refuse(note, why, "implement it and rebuild (docs/guide/plugins.md)");
  }
  return storage;
}

struct ImportedStructs {
  stc_plugin plugin{};
  TableStorage table;
};

std::unique_ptr<LoadedPlugin> import_plugin(const PluginNote& note, const stc_plugin* theirs, uint32_t index) {
  const std::string at = "plugin " + std::to_string(index) + " of its set";
  auto structs = std::make_shared<ImportedStructs>();
  structs->plugin = import_struct<stc_plugin>(note, theirs, STC_SIZE_TO_END(stc_plugin, get_extension), at);
  stc_plugin* const raw = &structs->plugin;
  if (raw->name == nullptr) refuse(note, at + " has no name");
  const std::string owner = std::string(kind_name(raw->kind)) + " " + raw->name;
  const bool noted = std::any_of(note.plugins.begin(), note.plugins.end(), [&](const NotePlugin& record) {
    return record.kind == raw->kind && record.name == raw->name;
  });
  if (!noted) refuse(note, "its entry returns " + owner + ", which its note does not name");
  auto loaded = std::make_unique<LoadedPlugin>();
  loaded->declaration.kind = raw->kind;
  loaded->declaration.name = raw->name;
  loaded->declaration.version = text_or_empty(raw->version);
  loaded->declaration.doc = text_or_empty(raw->doc);
  loaded->declaration.library = note.path;
  loaded->declaration.params = import_params(note, *raw, owner);
  loaded->library = note.path;
  loaded->note = note;
  structs->table = import_table(note, *kind_table(raw->kind), raw->table, owner);
  raw->table = structs->table.get();
  loaded->table = raw->table;
  loaded->plugin = raw;
  loaded->storage = std::move(structs);
  return loaded;
}

stc_plugin_set import_set_struct(const PluginNote& note, const stc_plugin_set* set) {
  return import_struct<stc_plugin_set>(note, set, STC_SIZE_TO_END(stc_plugin_set, schemas), "the plugin set");
}

}  // namespace

std::vector<std::unique_ptr<LoadedPlugin>> import_set(const PluginNote& note, const stc_plugin_set* set) {
  const stc_plugin_set ours = import_set_struct(note, set);
  if (ours.num_plugins == 0 || ours.num_plugins > kMostPlugins || ours.plugins == nullptr) {
    refuse(note, "its entry returns " + std::to_string(ours.num_plugins) + " plugins" +
                     (ours.plugins == nullptr ? " at null" : "") + ", wanted 1 to " + std::to_string(kMostPlugins));
  }
  std::vector<std::unique_ptr<LoadedPlugin>> plugins;
  for (uint32_t i = 0; i < ours.num_plugins; ++i) plugins.push_back(import_plugin(note, ours.plugins[i], i));
  for (const NotePlugin& record : note.plugins) {
    const auto count = std::count_if(plugins.begin(), plugins.end(), [&](const auto& plugin) {
      return plugin->declaration.kind == record.kind && plugin->declaration.name == record.name;
    });
    if (count != 1) {
      refuse(note, std::string("its note names ") + kind_name(record.kind) + " " + record.name +
                       ", its entry returns it " + std::to_string(count) + " times");
    }
  }
  return plugins;
}

void check_schemas(const PluginNote& note, const stc_plugin_set* set) {
  const stc_plugin_set ours = import_set_struct(note, set);
  if (ours.num_schemas == 0) return;
  if (note.level == STC_LEVEL_PLAIN) refuse(note, "says level plain, but lists operators of LibTorch");
  if (ours.num_schemas > kMostSchemas || ours.schemas == nullptr) {
    refuse(note, "lists " + std::to_string(ours.num_schemas) + " operator schemas" +
                     (ours.schemas == nullptr ? " at null" : ""));
  }
  if (torch_slots().operator_check == nullptr) {
    refuse(note, "calls operators of LibTorch, which this program does not hold", "load it through stc-host");
  }
  for (uint32_t i = 0; i < ours.num_schemas; ++i) {
    if (ours.schemas[i] == nullptr) refuse(note, "operator schema " + std::to_string(i) + " is null");
    const ErrorText error = take_error(torch_slots().operator_check(process_host().ctx, ours.schemas[i]));
    if (error.code != 0) refuse(note, error.message, "rebuild it for this host's LibTorch");
  }
}

}  // namespace stc::host
