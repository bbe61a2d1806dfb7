#include "host/app/config_arguments.hpp"

#include <iostream>

namespace stc::host {

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

void print_warnings(const Config& config) {
  for (const Warning& warning : config.warnings()) {
    std::cerr << "warning: " << warning.message << "\n";
    if (warning.at.known()) std::cerr << "  at " << warning.at.str() << "\n";
    if (!warning.hint.empty()) std::cerr << "  hint: " << warning.hint << "\n";
  }
}

}  // namespace stc::host
