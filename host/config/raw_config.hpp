/// \file
/// What was written, by section and key: the file after aliases and shorthands, under the command
/// line.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/config/config.hpp"
#include "host/config/node.hpp"

namespace stc::host {

/// A key as somebody wrote it.
struct Given {
  std::string key;
  NodePtr value;
  Location key_at;
  Origin origin;
};

struct RawSection {
  bool written = false;  // false: the file has no such section
  Location at;
  std::vector<Given> keys;  // in the order of the file
};

/// Section "" holds the root's own keys.
class RawConfig {
 public:
  RawSection& section(const std::string& name) { return sections_[name]; }
  const Given* find(const std::string& section, const std::string& key) const;
  /// Replaces the key or adds it.
  void set(const std::string& section, Given given);

 private:
  std::map<std::string, RawSection> sections_;
};

/// Moves root aliases into run, `hub` and `diloco` into distributed, and expands the shorthands
/// `optimizer: muon`, `precision: bf16`, `muon_plus`, `cautious` and `compile: {enabled: true}`.
/// \throws ConfigError for unknown words at the root, and for what is said twice.
RawConfig fold_document(const Node& root, std::vector<Warning>& warnings);

/// Puts --set and the four flags over the file.
/// \throws ConfigError for a malformed, repeated or secret override.
void apply_overrides(RawConfig& raw, const LoadRequest& request);

/// The value of an override: a flow collection or a quoted string as YAML, anything else one word.
NodePtr parse_override(const std::string& text, const Location& at);

/// `<section>.<key>: unknown key` with the nearest of \p known (names within the section), or a key
/// of that name elsewhere.
[[noreturn]] void fail_unknown(const std::string& section, const std::string& key,
                               const std::vector<std::string>& known, const Location& at, const std::string& note = {});

/// The path that an alias stands for: max_steps -> run.max_steps, hub.token -> distributed.token,
/// cautious -> optimizer.cautious, compile.enabled -> compile; anything else as it is.
std::string without_alias(const std::string& path);

/// Words that may stand at the root of a run file.
std::vector<std::string> root_words();

}  // namespace stc::host
