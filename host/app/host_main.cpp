// The training half's one exported function.

#include <cstring>
#include <iostream>
#include <new>

#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>

#include "stc/version.hpp"

#include "host/app/commands.hpp"
#include "host/app/training_half.hpp"
#include "host/plugins/gates.hpp"
#include "host/services/torch_services.hpp"

namespace stc::host {
namespace {

int run_command_line(const CommandLine& line) {
  const CommandArguments& arguments = line.arguments;
  if (line.command == "run") return run_command(std::get<RunArguments>(arguments));
  if (line.command == "validate") return validate_command(std::get<ValidateArguments>(arguments));
  if (line.command == "explain") return explain_command(std::get<ExplainArguments>(arguments));
  if (line.command == "inspect") return inspect_command(std::get<InspectArguments>(arguments));
  if (line.command == "generate") return generate_command(std::get<GenerateArguments>(arguments));
  if (line.command == "replay") return replay_command(std::get<ReplayArguments>(arguments));
  if (line.command == "bench") return bench_command(std::get<BenchArguments>(arguments));
  if (line.command == "tune") return tune_command(std::get<TuneArguments>(arguments));
  if (line.command == "verify-resume") return verify_resume_command(std::get<VerifyResumeArguments>(arguments));
  if (line.command == "plugins describe") return plugins_describe_command(std::get<PluginsArguments>(arguments));
  if (line.command == "plugins check") return plugins_check_command(std::get<PluginsCheckArguments>(arguments));
  throw Error(line.command + ": the training half does not know this command", "build or install stc-host again");
}

int print_error(const std::string& text) {
  std::cout.flush();
  std::cerr << text;
  return kExitError;
}

}  // namespace
}  // namespace stc::host

int stc_host_main(const char* version, const void* command_line) {
  using namespace stc::host;
  if (std::strcmp(version, STC_VERSION) != 0) {
    return print_error(std::string("error: libstc_host.so is of version " STC_VERSION ", stc-host of ") + version +
                       "\n  hint: build or install stc-host again\n");
  }
  try {
    set_torch_runtime(TORCH_VERSION);
    install_torch_services();
    return stc::host::run_command_line(*static_cast<const CommandLine*>(command_line));
  } catch (const Error& error) {
    return print_error(error.render());
  } catch (const c10::Error& error) {
    return print_error(std::string("error: ") + error.what_without_backtrace() + "\n");
  } catch (const std::bad_alloc&) {
    return print_error("error: out of memory\n");
  } catch (const std::exception& error) {
    return print_error(std::string("error: ") + error.what() + "\n");
  } catch (...) {
    return print_error("error: an exception of unknown type\n");
  }
}
