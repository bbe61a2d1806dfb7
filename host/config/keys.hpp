/// \file
/// The host's own keys: the one source of validate, explain and docs/reference/config.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/declaration.hpp"

namespace stc::host {

/// One key. Beyond Param: an INT or BOOL key with enum_values accepts those words too; an OBJECT
/// key with enum_values accepts only those sub-keys; with parts they are checked and completed.
struct HostKey {
  /// How a value is read where the type does not say it all.
  enum class Form {
    kPlain,
    kSeed,       // an integer of 64 bits, signed or not
    kNodeId,     // a word that is safe as a folder name
    kNames,      // a list of words that are not blank
    kSinks,      // a list of names or {name, ...keys}
    kGroups,     // a list of mappings
    kPathOrMap,  // a path, or a mapping of names to paths
    kDevice,     // auto, cpu, cuda, cuda:<n>, mps
  };
  /// Which values belong to a later version: `run` refuses them, `validate` warns.
  enum class Later { kNothing, kAllButDefault, kEnumeratedValues };

  std::string section;  // "" for the root
  Param param;
  std::vector<Param> parts;  // of an OBJECT
  bool in_2_0_0 = false;     // printed first, and a warning rather than an error where nobody reads it
  bool host_reads = false;   // of the sections that a plugin shares
  Form form = Form::kPlain;
  /// Letter case of words: folded before checking.
  enum class Fold { kNone, kLower, kUpper } fold = Fold::kNone;
  Later later = Later::kNothing;
  std::vector<std::string> later_values;

  std::string path() const { return section.empty() ? param.name : section + "." + param.name; }
};

/// Sections in the order of print; "" stands for the root's own keys.
const std::vector<std::string>& section_names();
/// Words at the root that stand for run.<word>.
const std::vector<std::string>& run_aliases();
/// All keys in the order of print: within a section those of 2.0.0 first.
const std::vector<HostKey>& host_keys();
const HostKey* find_host_key(std::string_view section, std::string_view name);
/// As it is written in messages: "int", "list of floats", "bool or auto".
std::string type_name(const Param& param);
/// What the value may be: "an integer > 0", "a number in [0, 1)", "cosine or constant"; for
/// messages.
std::string allowed(const Param& param);
/// The range alone: "> 0", "0 <= x < 1"; "" when there is none.
std::string range_text(const Param& param);

// The parts of the table; use host_keys().
std::vector<HostKey> keys_of_2_0_0();
std::vector<HostKey> keys_of_ours();

}  // namespace stc::host
