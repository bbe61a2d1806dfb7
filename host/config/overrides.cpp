#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "host/config/document.hpp"
#include "host/config/keys.hpp"
#include "host/config/raw_config.hpp"
#include "host/config/scalar.hpp"

namespace stc::host {
namespace {

struct Target {
  std::string section;
  std::string key;
  std::string path() const { return section.empty() ? key : section + "." + key; }
};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

[[noreturn]] void fail_section(const std::string& path, const Location& at) {
  throw ConfigError("--set " + path + ": names a section, expected one of its keys",
                    "write --set " + path + ".<key>=<value>", at);
}

/// "optimizer.lr", "max_steps", "hub.repo_id", "precision": the same words as in a file.
Target resolve(const std::string& word, const Location& at) {
  const std::string path = without_alias(word);
  size_t dot = path.find('.');
  if (dot != std::string::npos) {
    Target target{path.substr(0, dot), path.substr(dot + 1)};
    if (target.section.empty() || !contains(section_names(), target.section)) {
      fail_unknown("", target.section, root_words(), at);
    }
    return target;
  }
  if (path == "optimizer") return {"optimizer", "name"};
  if (path == "precision") return {"precision", "mode"};
  if (find_host_key("", path) != nullptr) return {"", path};
  if (path.empty() || !contains(root_words(), path)) fail_unknown("", path, root_words(), at);
  fail_section(word, at);
}

/// What stands before the equals sign.
std::string path_of(const std::string& text) {
  std::string path = text.substr(0, text.find('='));
  path.erase(0, std::min(path.find_first_not_of(' '), path.size()));
  path.erase(path.find_last_not_of(' ') + 1);
  return path;
}

class Overrides {
 public:
  explicit Overrides(RawConfig& raw) : raw_(raw) {}

  void set(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string path = path_of(text);
    Location at{"--set " + path, 0, 0};
    if (equals == std::string::npos) {
      throw ConfigError("--set " + path + ": has no value, expected key=value", "write --set " + path + "=<value>", at);
    }
    Target target = resolve(path, at);
    const HostKey* key = find_host_key(target.section, target.key);
    if (key != nullptr && (key->param.flags & STC_PARAM_SECRET) != 0) {
      throw ConfigError("--set " + path + ": a secret cannot be given on the command line",
                        "every user of the machine can read it there; use the environment or the file", at);
    }
    NodePtr value = parse_override(text.substr(equals + 1), at);
    const bool shorthand = path == "optimizer" || path == "precision";
    if (shorthand && value->kind == Node::Kind::kMap) fail_section(path, at);
    apply(target, std::move(value), at);
  }

  void flag(const char* name, Target target, std::string value, bool quoted = false) {
    Location at{name, 0, 0};
    apply(target, make_scalar(std::move(value), quoted, at), at);
  }

  bool has(const std::string& path) const { return seen_.count(path) > 0; }

  /// Without counting as a use of the key.
  void follow(const Target& target, const Given& like) {
    Given given = like;
    given.key = target.key;
    raw_.set(target.section, std::move(given));
  }

 private:
  void apply(const Target& target, NodePtr value, const Location& at) {
    auto [known, added] = seen_.try_emplace(target.path(), at.file);
    if (!added) {
      throw ConfigError(target.path() + ": given twice on the command line, by " + known->second + " and by " + at.file,
                        "keep one of the two", at);
    }
    raw_.set(target.section, {target.key, std::move(value), at, {Origin::Source::kFlag, at, at.file}});
  }

  RawConfig& raw_;
  std::map<std::string, std::string> seen_;
};

}  // namespace

NodePtr parse_override(const std::string& text, const Location& at) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) {
    throw ConfigError(at.file + ": has no value, expected key=value", "write null for the default", at);
  }
  std::string word = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
  if (std::string_view("[{\"'").find(word[0]) != std::string_view::npos) {
    return read_yaml(word, at.file);
  }
  if (std::optional<std::string> reason = ambiguity(word)) {
    throw ConfigError(at.file + ": got " + word + ", which is ambiguous: " + *reason,
                      "write the decimal number, or quote it if it is a string", at);
  }
  return make_scalar(word, false, at);
}

std::string key_of_override(const std::string& text) {
  const std::string path = path_of(text);
  return resolve(path, {"--set " + path, 0, 0}).path();
}

void apply_overrides(RawConfig& raw, const LoadRequest& request) {
  Overrides overrides(raw);
  for (const std::string& text : request.sets) overrides.set(text);
  if (request.resume) {
    overrides.flag("--resume", {"checkpoint", "resume"}, *request.resume ? "true" : "false");
  }
  if (request.device) overrides.flag("--device", {"run", "device"}, *request.device, true);
  if (request.output_dir) {
    overrides.flag("--output-dir", {"run", "output_dir"}, *request.output_dir, true);
  }
  if (!request.max_steps) return;
  overrides.flag("--max-steps", {"run", "max_steps"}, std::to_string(*request.max_steps));
  const Given flag = *raw.find("run", "max_steps");
  // The flag is the step target: the schedule follows it, and data.max_steps must not win over it.
  if (!overrides.has("scheduler.max_steps")) overrides.follow({"scheduler", "max_steps"}, flag);
  const Given* data = raw.find("data", "max_steps");
  if (data != nullptr && !is_null(*data->value)) overrides.follow({"data", "max_steps"}, flag);
}

}  // namespace stc::host
