// `stc-host inspect PATH`: what a checkpoint, a checkpoints folder or a run folder holds, and
// whether it is whole.

#include <algorithm>
#include <iostream>

#include "host/app/commands.hpp"
#include "host/checkpoint/open.hpp"
#include "host/checkpoint/report.hpp"

namespace stc::host {
namespace {

/// The configuration that the report shows: the checkpoint's own, or that of the folder's newest.
Value config_of(const Value& report) {
  const Value& one = report.at("kind") == "folder" ? report.at("newest") : report;
  return one.is_object() ? one.value("config", Value()) : Value();
}

std::string indented(const std::string& text) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += "    " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

void print_text(const Value& report) {
  std::cout << report_text(report);
  const Value config = config_of(report);
  if (!config.is_null()) std::cout << "\n  config\n" << indented(to_yaml(config));
}

}  // namespace

int inspect_command(const InspectArguments& arguments) {
  FileSystem& files = FileSystem::real();
  const Verify verify = arguments.verify ? Verify::kHashes : Verify::kSizes;
  const CheckpointPath found = resolve_checkpoint_path(files, arguments.path);
  const Value report = found.kind == CheckpointPath::Kind::kFolder ? describe_folder(files, found.path, verify)
                                                                   : describe_checkpoint(files, found.path, verify);
  if (arguments.format == "json") {
    // A path need not be UTF-8; all else is.
    std::cout << report.dump(2, ' ', false, Value::error_handler_t::replace) << "\n";
  } else {
    print_text(report);
  }
  std::cout.flush();
  const Value& problems = report.at("problems");
  if (problems.empty()) return kExitDone;
  std::string message = problems[0].get<std::string>();
  if (problems.size() > 1) message += ", and " + std::to_string(problems.size() - 1) + " more";
  throw CheckpointError(message);
}

}  // namespace stc::host
