// `stc-host plugins check FILE`, the child: passes every gate aloud, then tries each plugin.

#include <filesystem>
#include <iostream>
#include <system_error>

#include "stc/version.hpp"

#include "host/app/check_exercises.hpp"
#include "host/app/commands.hpp"
#include "host/plugins/gates.hpp"
#include "host/plugins/kinds.hpp"
#include "host/plugins/load_guard.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

std::string slot_summary(const LoadedPlugin& plugin) {
  const KindTable& table = *kind_table(plugin.declaration.kind);
  size_t given = 0;
  std::string absent;
  for (const Slot& slot : table.slots) {
    if (slot_pointer(plugin.table, slot) != nullptr) {
      ++given;
    } else {
      absent += (absent.empty() ? ", without " : ", ") + std::string(slot.name);
    }
  }
  return std::to_string(given) + " of " + std::to_string(table.slots.size()) + " slots" + absent;
}

std::string count_text(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void print_step(const std::string& name, const std::string& text) {
  std::cout << "  " << name << std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') << text << std::endl;
}

void check_library(const std::string& path, const PluginsCheckArguments& arguments, CheckReport& report) {
  report.begin("reading its note");
  const PluginNote note = read_note(path);
  std::cout << path << std::endl;
  print_step("note", "stc ABI " + std::to_string(note.abi_major) + "." + std::to_string(note.abi_minor_built) +
                         (note.compiler.empty() ? "" : ", " + note.compiler) +
                         (note.package.empty() ? "" : ", package " + note.package + " " + note.version));
  print_step("level", std::string(level_name(note.level)) + ", for " + loads_in(note));

  // What plugins write by default lands in the scratch folder.
  if (!arguments.scratch.empty()) fs::current_path(arguments.scratch);
  RunContext context;
  context.seed = 1;
  context.run_dir = fs::current_path().string();
  context.registry = &process_registry(arguments.plugin_paths);
  report.begin("loading it");
  const std::vector<const LoadedPlugin*> plugins = context.registry->load_library(path);
  print_step("loaded", count_text(plugins.size(), "plugin"));
  for (const LoadedPlugin* plugin : plugins) {
    const PluginDeclaration& declaration = plugin->declaration;
    print_step(kind_name(declaration.kind), declaration.name + " " + declaration.version + ": " +
                                                slot_summary(*plugin) + "; " +
                                                count_text(declaration.params.size(), "parameter"));
    print_step("", exercise(*plugin, context, report));
  }
}

}  // namespace

int plugins_check_command(const PluginsCheckArguments& arguments) {
  CheckReport report(arguments.report_fd);
  LoadGuard::report_to(arguments.report_fd);
  std::error_code ignored;
  PluginsCheckArguments absolute = arguments;
  for (std::string& path : absolute.plugin_paths) path = fs::absolute(path, ignored).string();
  try {
    check_library(fs::absolute(arguments.target, ignored).string(), absolute, report);
  } catch (const Error& error) {
    report.refuse(error.render());
    return kExitError;
  } catch (...) {
    report.refuse("error: plugin " + arguments.target + ": " + describe_current_exception() + "\n");
    return kExitError;
  }
  report.done();
  std::cout << "ok" << std::endl;
  return kExitDone;
}

}  // namespace stc::host
