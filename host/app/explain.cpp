// `stc-host explain FILE [KEY]`: what each key is, holds, and where that came from.

#include "host/config/explain.hpp"

#include <iostream>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/plugins/registry.hpp"

namespace stc::host {

int explain_command(const ExplainArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  Config config = load_and_warn(arguments, Depth::kPrint, registry);
  std::cout << explain_keys(config, arguments.key, arguments.format);
  return kExitDone;
}

}  // namespace stc::host
