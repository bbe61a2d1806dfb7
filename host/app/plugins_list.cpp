// `stc-host plugins list`: what the notes say. Runs in the launcher and loads nothing.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/app/training_half.hpp"
#include "host/plugins/gates.hpp"
#include "host/plugins/search.hpp"

namespace stc::host {
namespace {

using Row = std::vector<std::string>;

void print_table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] + 2 - row[i].size(), ' ');
    }
    std::cout << line << "\n";
  }
}

std::vector<IndexedPlugin> sorted_plugins(LibraryIndex& index) {
  std::vector<IndexedPlugin> plugins = index.plugins();
  std::stable_sort(plugins.begin(), plugins.end(), [](const IndexedPlugin& a, const IndexedPlugin& b) {
    return a.record->kind != b.record->kind ? a.record->kind < b.record->kind : a.record->name < b.record->name;
  });
  return plugins;
}

void print_text(LibraryIndex& index) {
  std::vector<Row> rows = {{"KIND", "NAME", "VERSION", "LEVEL", "LOADS IN", "LIBRARY"}};
  std::vector<Row> shadowed = {{"SHADOWED", "", "LIBRARY", "BY"}};
  for (const IndexedPlugin& plugin : sorted_plugins(index)) {
    const char* kind = kind_name(plugin.record->kind);
    if (plugin.shadowed_by != nullptr) {
      shadowed.push_back({kind, plugin.record->name, plugin.library->path, plugin.shadowed_by->path});
      continue;
    }
    const PluginNote& note = *plugin.library->note;
    rows.push_back({kind, plugin.record->name, plugin.record->version, level_name(note.level), loads_in(note),
                    plugin.library->path});
  }
  if (rows.size() > 1) {
    print_table(rows);
  } else {
    std::cout << "no plugins found\n";
    for (const SearchPlace& place : index.places()) {
      std::cout << "  searched " << place.path << " (" << place.origin << ")"
                << (place.exists ? "" : ": does not exist") << "\n";
    }
  }
  if (shadowed.size() > 1) {
    std::cout << "\n";
    print_table(shadowed);
  }
  bool first = true;
  for (const IndexedLibrary& library : index.libraries()) {
    if (library.usable()) continue;
    if (first) std::cout << "\nREFUSED\n";
    first = false;
    std::cout << library.refusal << "\n  hint: " << library.hint << "\n";
  }
}

void print_json(LibraryIndex& index) {
  using Json = nlohmann::ordered_json;
  Json document = {{"plugins", Json::array()}, {"refused", Json::array()}, {"searched", Json::array()}};
  for (const IndexedPlugin& plugin : sorted_plugins(index)) {
    const PluginNote& note = *plugin.library->note;
    Json entry = {{"kind", kind_name(plugin.record->kind)},
                  {"name", plugin.record->name},
                  {"version", plugin.record->version},
                  {"doc", plugin.record->doc},
                  {"level", level_name(note.level)},
                  {"loads_in", loads_in(note)},
                  {"library", plugin.library->path},
                  {"package", note.package},
                  {"licence", note.licence},
                  {"shadowed_by", nullptr}};
    if (plugin.shadowed_by != nullptr) entry["shadowed_by"] = plugin.shadowed_by->path;
    document["plugins"].push_back(std::move(entry));
  }
  for (const IndexedLibrary& library : index.libraries()) {
    if (library.usable()) continue;
    document["refused"].push_back({{"library", library.path}, {"reason", library.refusal}, {"hint", library.hint}});
  }
  for (const SearchPlace& place : index.places()) {
    document["searched"].push_back({{"path", place.path}, {"origin", place.origin}, {"exists", place.exists}});
  }
  std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace

int plugins_list_command(const PluginsListArguments& arguments) {
  LibraryIndex index(arguments.plugin_paths);
  for (const SearchFault& fault : index.faults()) {
    std::cerr << "warning: " << fault.origin << ": " << fault.message << "\n";
  }
  if (arguments.format == "json") {
    print_json(index);
  } else {
    print_text(index);
  }
  return kExitDone;
}

}  // namespace stc::host
