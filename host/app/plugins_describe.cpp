// `stc-host plugins describe [KIND/]NAME`: a plugin's parameters, as text, JSON or Markdown.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/config/keys.hpp"
#include "host/config/nearest.hpp"
#include "host/plugins/gates.hpp"
#include "host/plugins/registry.hpp"
#include "host/plugins/search.hpp"

namespace stc::host {
namespace {

struct Wanted {
  int kind = 0;
  std::string name;
};

std::vector<Wanted> all_plugins(Registry& registry) {
  std::vector<Wanted> all;
  for (int kind = STC_KIND_DATASET; kind <= STC_KIND_SINK; ++kind) {
    for (const std::string& name : registry.names(kind)) all.push_back({kind, name});
  }
  return all;
}

/// "sink/csv" or "csv": every plugin of that name, of all kinds unless one is given.
std::vector<Wanted> named_plugins(Registry& registry, const std::string& target) {
  const size_t slash = target.find('/');
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  const int kind = slash == std::string::npos ? 0 : kind_from_name(target.substr(0, slash));
  std::vector<Wanted> found;
  std::vector<std::string> known;
  for (const Wanted& plugin : all_plugins(registry)) {
    known.push_back(plugin.name);
    if (plugin.name == name && (kind == 0 || plugin.kind == kind)) found.push_back(plugin);
  }
  if (found.empty() && kind != 0) registry.load(kind, name);  // throws with the reason
  if (found.empty()) {
    // A refused library may hold it: its own reason says more than "not found".
    for (int other = STC_KIND_DATASET; other <= STC_KIND_SINK; ++other) registry.find(other, name);
    const std::optional<std::string> close = nearest(name, known);
    throw PluginError("plugin " + name + ": not found",
                      (close ? "nearest name is " + *close + "; " : "") + "stc-host plugins list shows all");
  }
  return found;
}

std::vector<const LoadedPlugin*> select(Registry& registry, const std::string& target) {
  const bool kind_first = kind_from_name(target.substr(0, target.find('/'))) != 0 &&
                          target.find('/') != std::string::npos && !target.ends_with(".so");
  if (is_library_path(target) && !kind_first) return registry.load_library(target);
  std::vector<const LoadedPlugin*> plugins;
  for (const Wanted& wanted : target.empty() ? all_plugins(registry) : named_plugins(registry, target)) {
    plugins.push_back(&registry.load(wanted.kind, wanted.name));
  }
  return plugins;
}

std::string default_text(const Param& param) {
  if ((param.flags & STC_PARAM_REQUIRED) != 0) return "required";
  return param.default_text ? *param.default_text : "null";
}

/// The range or the words, "" when anything goes.
std::string range_of(const Param& param) {
  return param.enum_values.empty() ? range_text(param) : join(param.enum_values);
}

std::string notes_of(const Param& param) {
  std::string notes;
  if (!param.since.empty()) notes += "; since " + param.since;
  if (!param.deprecated.empty()) notes += "; deprecated: " + param.deprecated;
  if ((param.flags & STC_PARAM_SECRET) != 0) notes += "; secret, shown as <redacted>";
  return notes;
}

void print_text(const LoadedPlugin& plugin) {
  const PluginDeclaration& declaration = plugin.declaration;
  std::cout << kind_name(declaration.kind) << " " << declaration.name << " " << declaration.version << ": "
            << declaration.doc << "\n"
            << "  library  " << plugin.library << "\n"
            << "  level    " << level_name(plugin.note.level) << ", for " << loads_in(plugin.note) << "\n";
  if (!plugin.note.package.empty()) {
    std::cout << "  package  " << plugin.note.package << " " << plugin.note.version
              << (plugin.note.licence.empty() ? "" : ", licence " + plugin.note.licence) << "\n";
  }
  if (declaration.params.empty()) {
    std::cout << "  no parameters\n";
    return;
  }
  std::cout << "  parameters\n";
  for (const Param& param : declaration.params) {
    std::cout << "    " << param.name << ": " << type_name(param) << ", default " << default_text(param);
    if (const std::string range = range_of(param); !range.empty()) std::cout << ", " << range;
    std::cout << "\n      " << param.doc << notes_of(param) << "\n";
  }
}

std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.replace(at, 1, "\\|");
  return text;
}

void print_markdown(const LoadedPlugin& plugin) {
  const PluginDeclaration& declaration = plugin.declaration;
  std::cout << "## " << kind_name(declaration.kind) << " `" << declaration.name << "`\n\n"
            << declaration.doc << "\n\nVersion " << declaration.version << ", level " << level_name(plugin.note.level)
            << ".\n\n";
  if (declaration.params.empty()) {
    std::cout << "No parameters.\n\n";
    return;
  }
  std::cout << "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Param& param : declaration.params) {
    std::cout << "| `" << param.name << "` | " << cell(type_name(param)) << " | " << cell(default_text(param)) << " | "
              << cell(range_of(param)) << " | " << cell(param.doc + notes_of(param)) << " |\n";
  }
  std::cout << "\n";
}

nlohmann::ordered_json to_json_entry(const LoadedPlugin& plugin) {
  using Json = nlohmann::ordered_json;
  const PluginDeclaration& declaration = plugin.declaration;
  Json entry = {{"kind", kind_name(declaration.kind)},
                {"name", declaration.name},
                {"version", declaration.version},
                {"doc", declaration.doc},
                {"level", level_name(plugin.note.level)},
                {"loads_in", loads_in(plugin.note)},
                {"library", plugin.library},
                {"parameters", Json::array()}};
  for (const Param& param : declaration.params) {
    Json item = {{"name", param.name},
                 {"type", type_name(param)},
                 {"required", (param.flags & STC_PARAM_REQUIRED) != 0},
                 {"default", param.default_text ? Json(*param.default_text) : Json(nullptr)},
                 {"range", range_text(param)},
                 {"doc", param.doc}};
    if (!param.enum_values.empty()) item["values"] = param.enum_values;
    if (!param.since.empty()) item["since"] = param.since;
    if (!param.deprecated.empty()) item["deprecated"] = param.deprecated;
    if ((param.flags & STC_PARAM_SECRET) != 0) item["secret"] = true;
    entry["parameters"].push_back(std::move(item));
  }
  return entry;
}

}  // namespace

int plugins_describe_command(const PluginsArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  print_search_faults(registry);
  const std::vector<const LoadedPlugin*> plugins = select(registry, arguments.target);
  if (arguments.format == "json") {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const LoadedPlugin* plugin : plugins) document.push_back(to_json_entry(*plugin));
    std::cout << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return kExitDone;
  }
  bool first = true;
  for (const LoadedPlugin* plugin : plugins) {
    if (arguments.format == "markdown") {
      print_markdown(*plugin);
    } else {
      if (!first) std::cout << "\n";
      print_text(*plugin);
    }
    first = false;
  }
  return kExitDone;
}

}  // namespace stc::host
