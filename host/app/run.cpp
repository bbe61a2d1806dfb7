// `stc-host run FILE`: config in, trained weights out.

#include <iostream>

#include "host/app/commands.hpp"
#include "host/app/compose.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/signals.hpp"
#include "host/app/summary.hpp"

namespace stc::host {

int run_command(const RunArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  Config config = load_and_warn(arguments, Depth::kRun, registry);

  std::unique_ptr<Run> run = compose(std::move(config), registry,
                                     arguments.profile ? ComposeMode::kProfile : ComposeMode::kTrain, arguments.allow);
  SignalGuard signals(run->context);
  FitResult result = run->trainer->fit();
  run->events->close();

  if (run->trace) {
    run->trace->close();
    std::cerr << "trace: " << run->trace->path() << "\n";
  }
  if (result.last_save_failed)
    std::cerr << "error: the last checkpoint is not saved: " << result.last_save_error << "\n";
  print_summary(result);
  return exit_code(result, signals);
}

}  // namespace stc::host
