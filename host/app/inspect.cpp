// `stc-host inspect PATH [OTHER]`: what a checkpoint, a checkpoints folder or a run folder holds, and whether it is
// whole; or what differs between two.

#include <algorithm>
#include <iostream>

#include "host/app/commands.hpp"
#include "host/checkpoint/compare.hpp"
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

/// A checkpoint, or the newest one of a folder, with all hashes verified.
LoadedCheckpoint open_for_comparison(const std::string& path) {
  return open_checkpoint(path, [](const std::string& note) { std::cerr << "warning: " << note << "\n"; });
}

int compare(const InspectArguments& arguments) {
  const Value comparison =
      compare_checkpoints(open_for_comparison(arguments.path), open_for_comparison(arguments.other));
  if (arguments.format == "json") {
    std::cout << comparison.dump(2, ' ', false, Value::error_handler_t::replace) << "\n";
  } else {
    std::cout << comparison_text(comparison);
  }
  return comparison["equal"].get<bool>() ? kExitDone : kExitDiffers;
}

}  // namespace

int inspect_command(const InspectArguments& arguments) {
  if (!arguments.other.empty()) return compare(arguments);
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
