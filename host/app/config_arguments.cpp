#include "host/app/config_arguments.hpp"

#include <iostream>

namespace stc::host {
namespace {

LoadRequest to_load_request(const ConfigArguments& arguments, Depth depth) {
  LoadRequest request;
  request.path = arguments.file;
  request.sets = arguments.sets;
  request.resume = arguments.resume;
  request.device = arguments.device;
  request.max_steps = arguments.max_steps;
  request.output_dir = arguments.output_dir;
  request.depth = depth;
  return request;
}

void print_warning(const std::string& message, const Location& at, const std::string& hint) {
  std::cerr << "warning: " << message << "\n";
  if (at.known()) std::cerr << "  at " << at.str() << "\n";
  if (!hint.empty()) std::cerr << "  hint: " << hint << "\n";
}

}  // namespace

void print_search_faults(Registry& registry) {
  for (const SearchFault& fault : registry.search_faults()) {
    print_warning(fault.origin + ": " + fault.message, {}, {});
  }
}

Config load_and_warn(const ConfigArguments& arguments, Depth depth, Registry& registry) {
  const auto load = [&] {
    try {
      return load_config(to_load_request(arguments, depth), registry);
    } catch (const Error&) {
      print_search_faults(registry);
      throw;
    }
  };
  Config config = load();
  for (const SearchFault& fault : registry.search_faults()) {
    const bool by_config = fault.origin == "plugins.path";
    print_warning(fault.origin + ": " + fault.message, by_config ? config.where("plugins.path") : Location{}, {});
  }
  for (const Warning& warning : config.warnings()) {
    print_warning(warning.message, warning.at, warning.hint);
  }
  return config;
}

}  // namespace stc::host
