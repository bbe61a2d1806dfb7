/// \file
/// A run file, read, merged with the command line, checked, and completed with defaults.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/declaration.hpp"
#include "host/errors/error.hpp"

namespace stc::host {

/// Objects keep the order in which they are printed.
using Value = nlohmann::ordered_json;

/// Where the value of a key came from.
struct Origin {
  enum class Source { kDefault, kFile, kAlias, kFlag, kDerived };
  Source source = Source::kDefault;
  Location at;      // kFile and kAlias
  std::string via;  // alias or flag as written ("max_steps", "--set optimizer.lr"), or the rule (kDerived)
};

/// A key as `explain` prints it.
struct KeyInfo {
  std::string path;  // "optimizer.lr"
  Param param;
  Origin origin;
  std::string owner;  // "stc" or "optimizer adamw"
};

/// An entry of logging.sinks, or the sink that logging.json_file implies.
struct SinkSection {
  std::string name;
  Value section;     // the sink's own keys, checked and completed
  std::string path;  // for messages: "logging.sinks[1]", "logging.json_file"
};

struct Warning {
  std::string message;
  std::string hint;
  Location at;
};

/// Which keys the command needs to be usable.
enum class Depth {
  kPrint,  // `validate`, `explain`: keys of later versions and missing plugins are warnings
  kRun,    // `run`, `validate --deep`: they are errors
};

struct LoadRequest {
  std::string path;                       // .yaml and .yml are YAML, anything else is JSON
  std::vector<std::string> sets;          // "optimizer.lr=0.01", in order; the same key twice is an error
  std::optional<bool> resume;             // --resume
  std::optional<std::string> device;      // --device
  std::optional<int64_t> max_steps;       // --max-steps
  std::optional<std::string> output_dir;  // --output-dir
  Depth depth = Depth::kRun;
};

class Config {
 public:
  Config() = default;
  /// All sections and keys in the order of print, defaults filled in, secrets in clear.
  const Value& root() const { return root_; }
  /// The value at a dotted path; null JSON when the key exists with no value.
  /// \throws std::out_of_range for a path that no declaration knows.
  const Value& at(std::string_view dotted) const;
  /// For errors found after loading: where the key was written, or nothing for a default.
  Location where(std::string_view dotted) const;
  const std::vector<KeyInfo>& keys() const { return keys_; }
  const std::vector<Warning>& warnings() const { return warnings_; }
  /// What a plugin is created with: the keys that it declares, and no others. Each is the user's
  /// value, else the plugin's own default; numbers of float keys are doubles. In section data,
  /// vocab_size is model.vocab_size, block_size falls back to model.max_seq_len and seed to
  /// run.seed. The optimizer plugin cautious gets the whole section, for the optimizer that it
  /// wraps.
  Value plugin_section(const PluginDeclaration& plugin, std::string_view section) const;
  /// All sinks of the run, those of logging.json_file first.
  const std::vector<SinkSection>& sinks() const { return sinks_; }
  /// root() with secret values replaced by "<redacted>".
  Value redacted() const;

 private:
  friend class ConfigBuilder;
  const KeyInfo* find_key(std::string_view dotted) const;

  Value root_;
  std::vector<KeyInfo> keys_;
  std::vector<SinkSection> sinks_;
  std::vector<Warning> warnings_;
};

/// Reads and checks a run file (spec: docs/reference/config.md).
/// \throws ConfigError with file:line:column, the value found, what is allowed, the nearest key.
Config load_config(const LoadRequest& request, PluginCatalog& catalog);

/// The dotted key that a --set names: of "max_steps=3", run.max_steps. \throws ConfigError when it names none.
std::string key_of_override(const std::string& text);

/// Checks a stored resolved configuration again (a checkpoint's), with overrides; for `generate`.
Config config_from_value(const Value& resolved, PluginCatalog& catalog);

/// Printers of `validate`: as YAML or as JSON (2 spaces), secrets redacted, numbers shortest
/// round-trip.
std::string to_yaml(const Value& value);
std::string to_json(const Value& value);

}  // namespace stc::host
