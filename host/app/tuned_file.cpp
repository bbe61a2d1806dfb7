#include "host/app/tuned_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "host/app/edit_yaml.hpp"
#include "host/config/config.hpp"
#include "host/config/document.hpp"
#include "host/errors/error.hpp"
#include "stc/version.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

/// yaml-cpp leaves the quotes away that make a string of "123".
void emit_list_or_scalar(YAML::Emitter& out, const YAML::Node& node) {
  if (node.IsSequence()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const auto& item : node) emit_list_or_scalar(out, item);
    out << YAML::EndSeq;
  } else if (node.IsScalar() && node.Tag() == "!") {
    out << YAML::DoubleQuoted << node.Scalar();
  } else {
    out << node;
  }
}

void emit_mapping(YAML::Emitter& out, const YAML::Node& node, const std::string& path, const KeyValues& changes) {
  out << YAML::BeginMap;
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    const std::string dotted = path.empty() ? key : path + "." + key;
    out << YAML::Key << key << YAML::Value;
    if (item.second.IsMap() && item.second.size() > 0) {
      emit_mapping(out, item.second, dotted, changes);
    } else {
      emit_list_or_scalar(out, item.second);
    }
    if (find_value(changes, dotted) != nullptr) out << YAML::Comment("tuned");
  }
  out << YAML::EndMap;
}

/// What the user gave as flags, then what was found.
KeyValues all_changes(const TuneArguments& arguments, const KeyValues& found) {
  KeyValues out;
  for (const std::string& set : arguments.sets) put_value(out, key_of_override(set), set.substr(set.find('=') + 1));
  if (arguments.device) put_value(out, "run.device", *arguments.device);
  for (const auto& [key, value] : found) put_value(out, key, value);
  return out;
}

std::string as_flags(const KeyValues& changes) {
  std::string out = "the same by flags: stc-host run FILE";
  for (const auto& [key, value] : changes) out += " --set " + key + "=" + value;
  return out;
}

}  // namespace

std::string tuned_yaml(const std::string& text, const KeyValues& changes, const std::vector<std::string>& header) {
  std::string top;
  for (std::string line : header) {
    std::replace(line.begin(), line.end(), '\n', ' ');  // of a file's name
    top += "# " + line + "\n";
  }
  if (!header.empty()) top += "\n";
  if (const std::optional<std::string> edited = edit_yaml(text, changes)) return top + *edited;
  YAML::Emitter out;
  out.SetIndent(2);
  emit_mapping(out, read_with_changes(text, changes), "", changes);
  return top + out.c_str() + "\n";
}

TunedFile::TunedFile(const TuneArguments& arguments, std::string path, Registry& registry)
    : arguments_(arguments), registry_(registry), path_(std::move(path)) {
  if (std::error_code ignored; !fs::is_regular_file(arguments_.file, ignored)) {
    throw Error("tune: " + arguments_.file + ": is no regular file", "tune reads it more than once: save it first");
  }
  std::ifstream in(arguments_.file, std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  const fs::path file(path_);
  if (!is_yaml(path_)) {
    throw Error("tune: " + path_ + ": is written as YAML", "end its name in .yaml");
  }
  if (std::error_code ignored; fs::exists(fs::symlink_status(file, ignored))) {
    throw Error("tune: " + path_ + ": is there already", "remove it, or name another file with --output");
  }
  const std::string own = "." + std::to_string(::getpid()) + ".part.yaml";  // what another tune or the user has stays
  beside_ = (file.parent_path() / ("." + file.stem().string() + own)).string();
  if (const std::string reason = put(""); !reason.empty()) {
    throw Error("tune: " + path_ + ": cannot be written: " + reason, "name another file with --output");
  }
  std::error_code ignored;
  fs::remove(beside_, ignored);
}

std::string TunedFile::put(const std::string& text) const {
  std::ofstream out(beside_, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  const std::string reason = std::generic_category().message(errno);
  std::error_code ignored;
  fs::remove(beside_, ignored);
  return reason;
}

void TunedFile::write(const KeyValues& found, const std::vector<std::string>& lines) {
  std::vector<std::string> header = {"Tuned by stc-host " STC_VERSION " from " + arguments_.file +
                                     ": see `stc-host tune --help`."};
  header.insert(header.end(), lines.begin(), lines.end());
  const KeyValues changes = all_changes(arguments_, found);
  try {
    if (!written_ && fs::exists(path_)) throw Error(path_ + ": is there now");
    const std::string reason = put(tuned_yaml(text_, changes, header));
    if (!reason.empty()) throw Error(path_ + ": " + reason);
    LoadRequest request;
    request.path = beside_;
    load_config(request, registry_);
    fs::rename(beside_, path_);
    written_ = true;
  } catch (const std::exception& error) {  // ours, yaml-cpp's, the file system's
    std::error_code ignored;
    fs::remove(beside_, ignored);
    throw Error("tune: the changes cannot be written: " + std::string(error.what()), as_flags(changes));
  }
}

}  // namespace stc::host
