#include "host/train/replay_record.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "host/checkpoint/file_system.hpp"
#include "host/checkpoint/json_text.hpp"
#include "host/checkpoint/layout.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordFile = "replay.json";
constexpr int kMaxDepth = 64;
constexpr const char* kBatchesFile = "batches.safetensors";

/// JSON has no NaN: the three values without a number are words.
Value number_or_word(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double from_number_or_word(const Value& value) {
  if (value.is_number()) return value.get<double>();
  const auto& word = value.get_ref<const std::string&>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return word == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

Value describe(const ReplayRecord& record) {
  Value value = Value::object();
  value["step"] = record.step;
  value["run_id"] = record.run_id;
  value["policy"] = record.policy;
  value["loss_scale"] = record.loss_scale;
  value["grad_norm"] = record.grad_norm ? number_or_word(*record.grad_norm) : Value();
  Value& list = value["micro_batches"] = Value::array();
  for (const ReplayMicroBatch& item : record.micro_batches) {
    list.push_back({{"where", item.batch->where},
                    {"loss", number_or_word(item.loss)},
                    {"dropout_key", item.dropout_key},
                    {"rows", item.batch->rows},
                    {"tokens", item.batch->tokens},
                    {"valid_labels", item.batch->valid_labels}});
  }
  value["config"] = record.config;
  return value;
}

std::vector<HostTensor> fields_of(const ReplayRecord& record) {
  std::vector<HostTensor> fields;
  for (size_t i = 0; i < record.micro_batches.size(); ++i) {
    for (const BatchField& field : record.micro_batches[i].batch->fields) {
      fields.push_back(
          {std::to_string(i) + "/" + field.name, field.dtype, field.shape, field.data.get(), field.bytes, field.data});
    }
  }
  return fields;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw CheckpointError(path.string() + ": cannot be written");
}

std::string read_text(const std::string& path) {
  const FileView view = FileSystem::real().map(path);
  return {reinterpret_cast<const char*>(view.data), view.bytes};
}

std::shared_ptr<const Batch> batch_of(const Value& item, size_t index, const SafetensorsFile& file) {
  auto batch = std::make_shared<Batch>();
  batch->where = item.at("where").get<std::string>();
  batch->rows = item.at("rows").get<int64_t>();
  batch->tokens = item.at("tokens").get<int64_t>();
  batch->valid_labels = item.at("valid_labels").get<int64_t>();
  const std::string prefix = std::to_string(index) + "/";
  for (const HostTensor& tensor : file.tensors()) {
    if (tensor.name.rfind(prefix, 0) != 0) continue;
    // Nobody writes into a batch; its type is shared with the loader, whose memory is writable.
    batch->fields.push_back({tensor.name.substr(prefix.size()), tensor.dtype, tensor.shape,
                             std::shared_ptr<void>(tensor.owner, const_cast<void*>(tensor.data)), tensor.bytes});
  }
  return batch;
}

}  // namespace

std::string write_replay_record(const std::string& run_dir, const ReplayRecord& record) {
  const fs::path folder = fs::path(run_dir) / "replay" / step_folder_name(record.step + 1);
  const fs::path temporary = folder.string() + ".tmp";
  try {
    fs::remove_all(temporary);
    fs::create_directories(temporary);
    write_safetensors((temporary / kBatchesFile).string(), fields_of(record), {});
    write_safetensors((temporary / kModelFile).string(), record.weights, {});
    write_text(temporary / kRecordFile, describe(record).dump(2) + "\n");
    fs::remove_all(folder);
    fs::rename(temporary, folder);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": " + error.code().message());
  }
  return folder.string();
}

std::string find_replay_record(const std::string& path) {
  if (fs::exists(fs::path(path) / kRecordFile)) return path;
  std::optional<uint64_t> newest;
  const fs::path folder = fs::path(path) / "replay";
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::optional<uint64_t> step = parse_step_folder_name(entry.path().filename().string());
    if (step && fs::exists(entry.path() / kRecordFile)) newest = std::max(newest.value_or(0), *step);
  }
  if (!newest) {
    throw CheckpointError(path + ": holds no replay record",
                          "a run writes " + folder.string() + " when a loss or gradient norm is not finite");
  }
  return (folder / step_folder_name(*newest)).string();
}

ReplayRecord read_replay_record(const std::string& path) {
  const fs::path folder = find_replay_record(path);
  const SafetensorsFile batches((folder / kBatchesFile).string());
  const SafetensorsFile weights((folder / kModelFile).string());
  ReplayRecord record;
  record.weights = weights.tensors();
  try {
    const fs::path file = folder / kRecordFile;
    const Value value = parse_json_strictly(file.string(), read_text(file.string()), kMaxDepth);
    record.step = value.at("step").get<uint64_t>();
    record.run_id = value.at("run_id").get<std::string>();
    record.policy = value.at("policy").get<std::string>();
    record.loss_scale = value.at("loss_scale").get<double>();
    if (!value.at("grad_norm").is_null()) record.grad_norm = from_number_or_word(value.at("grad_norm"));
    record.config = value.at("config");
    size_t index = 0;
    for (const Value& item : value.at("micro_batches")) {
      record.micro_batches.push_back({batch_of(item, index, batches), from_number_or_word(item.at("loss")),
                                      item.at("dropout_key").get<uint64_t>()});
      ++index;
    }
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError((folder / kRecordFile).string() + ": " + error.what());
  }
  return record;
}

}  // namespace stc::host
