#include "host/config/document.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace stc::host {
namespace {

/// Far above any run file; keeps a mistaken path (a data set, a device) from filling the memory.
constexpr size_t kMaxBytes = size_t{16} << 20;

std::string reason(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty()) text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw ConfigError(path + ": is a folder, expected a run file");
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    throw ConfigError(path + ": cannot be opened: " + reason(errno), "paths are relative to the working directory");
  }
  std::string text;
  char buffer[65536];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, n);
    if (text.size() > kMaxBytes) {
      throw ConfigError(path + ": larger than 16 MiB, expected a run file");
    }
  }
  if (std::ferror(file.get())) throw ConfigError(path + ": cannot be read: " + reason(errno));
  return text;
}

/// In lower case, with its dot.
std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension;
}

/// What is not named as YAML is JSON; where it is not named so either, an error says it.
NodePtr read_as_json(const std::string& text, const std::string& path) {
  try {
    return read_json(text, path);
  } catch (const ConfigError& error) {
    if (extension_of(path) == ".json") throw;
    throw ConfigError(error.what(), error.hint() + "; a file is read as YAML when its name ends in .yaml or .yml",
                      error.at());
  }
}

}  // namespace

bool is_yaml(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".yaml" || extension == ".yml";
}

NodePtr read_document(const std::string& path) {
  std::string text = read_file(path);
  NodePtr root = is_yaml(path) ? read_yaml(text, path) : read_as_json(text, path);
  if (root->kind == Node::Kind::kMap) return root;
  if (is_yaml(path) && is_null(*root)) {
    auto empty = std::make_shared<Node>();
    empty->kind = Node::Kind::kMap;
    empty->at = root->at;
    return empty;
  }
  const char* found = root->kind == Node::Kind::kList ? "a list" : "a single value";
  throw ConfigError(path + ": holds " + found + ", expected a mapping of sections",
                    "write sections and keys, as in \"run: {max_steps: 100}\"", root->at);
}

}  // namespace stc::host
