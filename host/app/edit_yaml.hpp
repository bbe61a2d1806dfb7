/// \file
/// Changing keys of a YAML text and leaving the rest of it as it is: order, comments, spelling.
#pragma once

#include <optional>
#include <string>

#include <yaml-cpp/yaml.h>

#include "host/app/child_run.hpp"

namespace stc::host {

/// `text` with each dotted key of `changes` set to its value (itself YAML), a comment "tuned" on its line. Keys that
/// are new stand first in their section, new sections last. Null where that cannot be done in the text alone: a section
/// or value behind an alias, a value of several lines, a text that is one flow mapping as JSON is. What is returned
/// reads as `text` does but for the changes.
std::optional<std::string> edit_yaml(const std::string& text, const KeyValues& changes);

/// The tree of `text` with `changes` in it, aliases written out, so that a change is of one place alone. \throws
/// ConfigError when the text is no mapping, yaml-cpp's exceptions when it cannot be read.
YAML::Node read_with_changes(const std::string& text, const KeyValues& changes);

}  // namespace stc::host
