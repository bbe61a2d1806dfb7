#include <algorithm>
#include <optional>

#include "host/config/keys.hpp"
#include "host/config/nearest.hpp"
#include "host/config/raw_config.hpp"
#include "host/config/secrets.hpp"

namespace stc::host {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The place of a value; of its key when the value is nothing at all.
Location place_of(const Node::Entry& entry) {
  bool absent = is_null(*entry.value) && entry.value->text.empty();
  return absent ? entry.at : entry.value->at;
}

Given given_from(const Node::Entry& entry, Origin::Source source, std::string via = {}) {
  return {entry.key, entry.value, entry.at, {source, place_of(entry), std::move(via)}};
}

class Folder {
 public:
  Folder(const Node& root, std::vector<Warning>& warnings) : root_(root), warnings_(warnings) {}

  RawConfig fold() {
    check_distributed();
    for (const Node::Entry& entry : root_.entries) fold_section(entry);
    for (const Node::Entry& entry : root_.entries) fold_word(entry);
    return std::move(raw_);
  }

 private:
  static bool is_distributed(const std::string& key) { return key == "distributed" || key == "hub" || key == "diloco"; }
  static bool is_section(const std::string& key) {
    return is_distributed(key) || (!key.empty() && contains(section_names(), key));
  }

  void check_distributed() const {
    const Node::Entry* first = nullptr;
    for (const Node::Entry& entry : root_.entries) {
      if (!is_distributed(entry.key)) continue;
      if (first != nullptr) {
        throw ConfigError("distributed: given twice, as " + first->key + " on line " + std::to_string(first->at.line) +
                              " and as " + entry.key + " on line " + std::to_string(entry.at.line),
                          "keep one of the two", entry.at);
      }
      first = &entry;
    }
  }

  void fold_section(const Node::Entry& entry) {
    if (!is_section(entry.key)) return;
    const std::string name = is_distributed(entry.key) ? "distributed" : entry.key;
    RawSection& section = raw_.section(name);
    section.written = true;
    section.at = entry.at;
    const Node& node = *entry.value;
    if (is_null(node)) return;
    if (node.kind == Node::Kind::kScalar && (name == "optimizer" || name == "precision")) {
      Given given = given_from(entry, Origin::Source::kFile);
      given.key = name == "optimizer" ? "name" : "mode";
      section.keys.push_back(std::move(given));
      return;
    }
    if (node.kind != Node::Kind::kMap) {
      throw ConfigError(name + ": got " + show_at(name, node) + ", expected a mapping of keys", {}, node.at);
    }
    bool moved = name != entry.key;
    for (const Node::Entry& key : node.entries) {
      section.keys.push_back(given_from(key, moved ? Origin::Source::kAlias : Origin::Source::kFile,
                                        moved ? entry.key + "." + key.key : ""));
    }
  }

  void fold_word(const Node::Entry& entry) {
    if (is_section(entry.key)) return;
    if (contains(run_aliases(), entry.key)) {
      fold_run_alias(entry);
    } else if (entry.key == "muon_plus" || entry.key == "cautious") {
      fold_optimizer_flag(entry);
    } else if (entry.key == "compile" && entry.value->kind == Node::Kind::kMap) {
      fold_compile(entry);
    } else if (find_host_key("", entry.key) != nullptr) {
      raw_.set("", given_from(entry, Origin::Source::kFile));
    } else {
      fail_unknown("", entry.key, root_words(), entry.at);
    }
  }

  void fold_run_alias(const Node::Entry& entry) {
    const Given* inner = raw_.find("run", entry.key);
    if (inner != nullptr && to_value(*inner->value) != to_value(*entry.value)) {
      warnings_.push_back({"run." + entry.key + ": " + show(*inner->value) + " on line " +
                               std::to_string(inner->key_at.line) + " is ignored, the root's " + entry.key + ": " +
                               show(*entry.value) + " wins",
                           "keep one of the two", inner->origin.at});
    }
    raw_.set("run", given_from(entry, Origin::Source::kAlias, entry.key));
  }

  void fold_optimizer_flag(const Node::Entry& entry) {
    if (is_null(*entry.value)) return;
    const Given* inner = raw_.find("optimizer", entry.key);
    if (inner != nullptr && to_value(*inner->value) != to_value(*entry.value)) {
      throw ConfigError("optimizer." + entry.key + ": conflicting values, " + show(*entry.value) + " on line " +
                            std::to_string(entry.at.line) + " and " + show(*inner->value) + " on line " +
                            std::to_string(inner->key_at.line),
                        "keep one of the two", entry.value->at);
    }
    raw_.set("optimizer", given_from(entry, Origin::Source::kAlias, entry.key));
  }

  void fold_compile(const Node::Entry& entry) {
    for (const Node::Entry& key : entry.value->entries) {
      if (key.key != "enabled") fail_unknown("compile", key.key, {"enabled"}, key.at);
      Given given = given_from(key, Origin::Source::kAlias, "compile.enabled");
      given.key = "compile";
      raw_.set("", std::move(given));
    }
  }

  const Node& root_;
  std::vector<Warning>& warnings_;
  RawConfig raw_;
};

/// Keys of that name in other sections, as paths.
std::vector<std::string> elsewhere(const std::string& section, const std::string& name) {
  std::vector<std::string> paths;
  for (const HostKey& key : host_keys()) {
    if (key.param.name == name && key.section != section) paths.push_back(key.path());
  }
  return paths;
}

}  // namespace

const Given* RawConfig::find(const std::string& section, const std::string& key) const {
  auto found = sections_.find(section);
  if (found == sections_.end()) return nullptr;
  for (const Given& given : found->second.keys) {
    if (given.key == key) return &given;
  }
  return nullptr;
}

void RawConfig::set(const std::string& section, Given given) {
  RawSection& target = sections_[section];
  for (Given& old : target.keys) {
    if (old.key == given.key) {
      old = std::move(given);
      return;
    }
  }
  target.keys.push_back(std::move(given));
}

std::string without_alias(const std::string& path) {
  if (contains(run_aliases(), path)) return "run." + path;
  if (path == "muon_plus" || path == "cautious") return "optimizer." + path;
  if (path == "compile.enabled") return "compile";
  const std::string section = path.substr(0, path.find_first_of(".["));
  if (section != "hub" && section != "diloco") return path;
  return "distributed" + path.substr(section.size());
}

std::vector<std::string> root_words() {
  std::vector<std::string> words;
  for (const std::string& name : section_names()) {
    if (!name.empty()) words.push_back(name);
  }
  for (const HostKey& key : host_keys()) {
    if (key.section.empty()) words.push_back(key.param.name);
  }
  words.insert(words.end(), run_aliases().begin(), run_aliases().end());
  words.insert(words.end(), {"muon_plus", "cautious", "hub", "diloco"});
  return words;
}

void fail_unknown(const std::string& section, const std::string& key, const std::vector<std::string>& known,
                  const Location& at, const std::string& note) {
  std::string prefix = section.empty() ? "" : section + ".";
  std::string hint;
  size_t dot = key.find('.');
  bool flat =
      section.empty() && dot != std::string::npos && find_host_key(key.substr(0, dot), key.substr(dot + 1)) != nullptr;
  if (flat) {
    hint = "write it nested: " + key.substr(0, dot) + ": {" + key.substr(dot + 1) + ": ...}";
  } else if (std::optional<std::string> close = nearest(key, known)) {
    hint = "nearest key is " + prefix + *close;
  } else if (std::vector<std::string> others = elsewhere(section, key); !others.empty()) {
    hint = "nearest key is " + others.front();
  } else {
    hint = "known keys" + (section.empty() ? "" : " of " + section) + " are " + join(known);
  }
  if (!note.empty()) hint += "; " + note;
  throw ConfigError(prefix + key + ": unknown key", hint, at);
}

RawConfig fold_document(const Node& root, std::vector<Warning>& warnings) { return Folder(root, warnings).fold(); }

}  // namespace stc::host
