#include <algorithm>
#include <fstream>

#include "host/app/step_records.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

/// The train_step records in the whole lines of the file from byte `from` on, in order. \returns the byte after them.
template <class Use>
std::streamoff for_each_step(const std::string& path, std::streamoff from, Use&& use) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(from);
  for (std::string line; std::getline(in, line) && !in.eof();) {
    from += static_cast<std::streamoff>(line.size()) + 1;
    const Value record = Value::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() && record.value("event", "") == "train_step") use(record);
  }
  return from;
}

std::string numbers_of(const Value& record) {
  std::string text;
  for (const char* name : {"loss", "grad_norm", "lr", "samples", "tokens", "micro_batches"}) {
    if (const auto found = record.find(name); found != record.end()) {
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + found->dump();
    }
  }
  return text;
}

}  // namespace

StepRecords read_step_records(const std::string& path) {
  StepRecords out;
  for_each_step(path, 0, [&](const Value& record) {
    const auto step = record.at("step").get<int64_t>();
    const std::string numbers = numbers_of(record);
    const auto [found, fresh] = out.emplace(step, numbers);
    if (fresh || found->second == numbers) return;
    throw CheckpointError("step " + std::to_string(step) + " was made twice: first " + found->second +
                          "; after a kill " + numbers);
  });
  return out;
}

int64_t StepFollower::last_step() {
  read_ = for_each_step(path_, read_, [&](const Value& record) { step_ = record.at("step").get<int64_t>(); });
  return step_;
}

std::optional<std::string> first_difference(const StepRecords& whole, const StepRecords& broken) {
  StepRecords all = whole;
  all.insert(broken.begin(), broken.end());
  for (const auto& [step, unused] : all) {
    const auto a = whole.find(step), b = broken.find(step);
    const std::string left = a == whole.end() ? "no record" : a->second;
    const std::string right = b == broken.end() ? "no record" : b->second;
    if (left != right) return "step " + std::to_string(step) + ": unbroken " + left + "; resumed " + right;
  }
  return std::nullopt;
}

void drop_names(Value& comparison) {
  Value kept = Value::array();
  for (const Value& value : comparison["values"]) {
    const auto key = value["key"].get<std::string>();
    if (key != "run_id" && !key.ends_with("run.output_dir") && !key.ends_with("logging.json_file"))
      kept.push_back(value);
  }
  comparison["values"] = std::move(kept);
  comparison["equal"] = comparison["values"].empty() && comparison["tensors"].empty();
}

}  // namespace stc::host
