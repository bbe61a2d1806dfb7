#include "host/checkpoint/report.hpp"

#include <algorithm>

#include "host/checkpoint/dtype.hpp"
#include "host/checkpoint/folder.hpp"
#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/layout.hpp"

namespace stc::host {
namespace {

Value describe_tensors(const std::vector<HostTensor>& tensors, Verify verify) {
  Value list = Value::array();
  for (const HostTensor& tensor : tensors) {
    Value item = {{"name", tensor.name},
                  {"dtype", safetensors_dtype_name(tensor.dtype)},
                  {"shape", tensor.shape},
                  {"bytes", tensor.bytes}};
    if (verify == Verify::kHashes) item["xxh3_128"] = xxh3_128_hex(tensor.data, tensor.bytes);
    list.push_back(std::move(item));
  }
  return list;
}

void add_content(Value& report, const LoadedCheckpoint& loaded, Verify verify) {
  Value counters = Value::object();
  Value state = Value::object();
  Value config;
  if (loaded.state.is_object()) {
    for (const auto& [key, value] : loaded.state.items()) {
      const bool counter = key == "step" || key == "samples" || key == "tokens" || key == "micro_batches";
      (counter ? counters : key == "config" ? config : state)[key] = value;
    }
  }
  report["counters"] = std::move(counters);
  report["tensors"] = {{"model", describe_tensors(loaded.model, verify)},
                       {"optimizer", describe_tensors(loaded.optimizer, verify)},
                       {"ema", describe_tensors(loaded.ema, verify)},
                       {"coordinator", describe_tensors(loaded.coordinator, verify)}};
  Value aliases = Value::object();
  for (const auto& [key, name] : loaded.model_metadata) {
    constexpr std::string_view kPrefix = "alias:";
    if (key.starts_with(kPrefix)) aliases[key.substr(kPrefix.size())] = name;
  }
  report["aliases"] = std::move(aliases);
  report["state"] = std::move(state);
  report["config"] = config.is_null() ? Value() : config["config"];
}

/// Columns padded to the widest cell, two spaces between them; numbers to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text(const std::string& indent) const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line = indent;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string pad(widths[i] - row[i].size(), ' ');
        line += (is_number_column(i) ? pad + row[i] : row[i] + pad) + "  ";
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  bool is_number_column(size_t column) const { return rows_[0][column] == "bytes"; }
  std::vector<std::vector<std::string>> rows_;
};

std::string plain(const Value& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string field(const std::string& name, const std::string& value) {
  return "  " + name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + value + "\n";
}

std::string problem_lines(const Value& problems) {
  std::string text;
  for (const Value& problem : problems) text += field("broken", plain(problem));
  return text;
}

std::string tensor_tables(const Value& tensors) {
  std::string text;
  for (const auto& [part, list] : tensors.items()) {
    if (list.empty()) continue;
    Table table({part + " tensor", "dtype", "shape", "bytes", "XXH3-128"});
    for (const Value& item : list) {
      table.add({plain(item["name"]), plain(item["dtype"]), item["shape"].dump(), item["bytes"].dump(),
                 plain(item.value("xxh3_128", Value("")))});
    }
    text += "\n" + table.text("  ");
  }
  return text;
}

std::string checkpoint_text(const Value& report) {
  std::string text = "checkpoint " + plain(report["path"]) + "\n";
  text += report["valid"].get<bool>() ? field("valid", "yes") : problem_lines(report["problems"]);
  if (!report.contains("files")) return text;
  text += field("run", plain(report["run_id"])) + field("written by", "stc " + plain(report["version"]));
  if (!report.contains("counters")) text += field("step", report["step"].dump());
  const Value counters = report.value("counters", Value::object());
  for (const auto& [key, value] : counters.items()) text += field(key, plain(value));
  const Value state = report.value("state", Value::object());
  for (const auto& [key, value] : state.items()) {
    if (value.is_primitive() && !value.is_null()) text += field(key, plain(value));
  }
  const Value aliases = report.value("aliases", Value::object());
  for (const auto& [alias, name] : aliases.items()) {
    text += field("alias", alias + " = " + plain(name));
  }
  Table table({"file", "bytes", "XXH3-128"});
  for (const auto& [name, digest] : report["files"].items()) {
    table.add({name, digest["bytes"].dump(), plain(digest["xxh3_128"])});
  }
  text += "\n" + table.text("  ");
  return text + tensor_tables(report.value("tensors", Value::object()));
}

std::string folder_text(const Value& report) {
  std::string text = "checkpoints in " + plain(report["path"]) + "\n";
  text += field("run", plain(report["run_id"]));
  text += field("latest", report["latest"].is_null() ? "none" : "step " + report["latest"].dump());
  if (!report["best"].is_null()) text += field("best", "step " + report["best"].dump());
  text += problem_lines(report["pointer_problems"]);
  for (const Value& name : report["unfinished"]) text += field("unfinished", plain(name));
  if (report["checkpoints"].empty()) return text + field("checkpoints", "none");
  for (const Value& item : report["checkpoints"]) {
    text += field("step " + item["step"].dump(), item["valid"].get<bool>() ? "valid" : "broken");
    for (const Value& problem : item["problems"]) text += "    " + plain(problem) + "\n";
  }
  if (!report["newest"].is_null()) text += "\n" + checkpoint_text(report["newest"]);
  return text;
}

/// What is wrong with a pointer file, as a line of `problems`.
void add_fault(Value& problems, const std::string& path, const Pointer& pointer, const FolderContents& contents) {
  if (!pointer.problem.empty()) {
    problems.push_back(pointer.problem);
  } else if (pointer.step && std::count(contents.steps.begin(), contents.steps.end(), *pointer.step) == 0) {
    problems.push_back(path + ": " + step_folder_name(*pointer.step) + " does not exist");
  }
}

}  // namespace

Value describe_checkpoint(FileSystem& files, const std::string& folder, Verify verify) {
  Value report = {{"kind", "checkpoint"}, {"path", folder}, {"valid", false}, {"problems", Value::array()}};
  try {
    const Manifest manifest = read_folder_manifest(files, folder);
    report["step"] = manifest.step;
    report["run_id"] = manifest.run_id;
    report["version"] = manifest.version;
    Value list = Value::object();
    for (const auto& [name, digest] : manifest.files) {
      list[name] = {{"bytes", digest.bytes}, {"xxh3_128", digest.xxh3_128}};
    }
    report["files"] = std::move(list);
    report["problems"] = check_files(files, folder, manifest, verify);
    if (!report["problems"].empty()) return report;
    add_content(report, read_checkpoint(files, folder, Verify::kSizes), verify);
    report["valid"] = true;
  } catch (const CheckpointError& error) {
    report["problems"].push_back(error.what());
  }
  return report;
}

Value describe_folder(FileSystem& files, const std::string& directory, Verify verify) {
  const FolderContents contents = scan_folder(files, directory);
  refuse_legacy(directory, contents);
  const std::string run_id = folder_run_id(files, directory);
  const Pointer pointer = read_pointer(files, directory, kLatestFile);
  const Pointer best = read_pointer(files, directory, kBestFile);
  Value pointer_problems = Value::array();
  add_fault(pointer_problems, join_path(directory, kLatestFile), pointer, contents);
  add_fault(pointer_problems, join_path(directory, kBestFile), best, contents);
  if (!pointer.present && !contents.steps.empty()) {
    pointer_problems.push_back(join_path(directory, kLatestFile) + ": missing");
  }
  Value problems = pointer_problems;
  Value checkpoints = Value::array();
  Value newest;
  for (const uint64_t step : contents.steps) {
    Value one = describe_checkpoint(files, join_path(directory, step_folder_name(step)), verify);
    const bool own = one.value("run_id", run_id) == run_id;
    if (!own) {
      one["valid"] = false;
      one["problems"].push_back(plain(one["path"]) + ": belongs to run " + plain(one["run_id"]) +
                                ", this folder to run " + run_id);
    }
    for (const Value& problem : one["problems"]) problems.push_back(problem);
    checkpoints.push_back({{"step", step}, {"valid", one["valid"]}, {"problems", one["problems"]}});
    const bool pointed_at = pointer.step == step;
    if (one["valid"].get<bool>() && (newest.is_null() || pointed_at)) newest = std::move(one);
  }
  return {{"kind", "folder"},
          {"path", directory},
          {"valid", problems.empty()},
          {"problems", std::move(problems)},
          {"run_id", run_id},
          {"latest", pointer.step ? Value(*pointer.step) : Value()},
          {"best", best.step ? Value(*best.step) : Value()},
          {"pointer_problems", std::move(pointer_problems)},
          {"checkpoints", std::move(checkpoints)},
          {"unfinished", contents.temporaries},
          {"newest", std::move(newest)}};
}

std::string report_text(const Value& report) {
  return report.value("kind", "") == "folder" ? folder_text(report) : checkpoint_text(report);
}

}  // namespace stc::host
