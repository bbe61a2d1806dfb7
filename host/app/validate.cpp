// `stc-host validate FILE`: the resolved configuration on standard output, and nothing else there.

#include <iostream>

#include "host/app/commands.hpp"
#include "host/app/compose.hpp"
#include "host/app/config_arguments.hpp"

namespace stc::host {

int validate_command(const ValidateArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  const Depth depth = arguments.deep ? Depth::kRun : Depth::kPrint;
  Config config = load_and_warn(arguments, depth, registry);

  const Value document = config.redacted();
  if (arguments.deep) compose(std::move(config), registry, ComposeMode::kCheck);
  std::cout << (arguments.format == "json" ? to_json(document) + "\n" : to_yaml(document));
  return kExitDone;
}

}  // namespace stc::host
