/// \file
/// Reads a run file into a tree of nodes.
#pragma once

#include <string>

#include "host/config/node.hpp"

namespace stc::host {

/// Nesting and alias limits of both formats.
constexpr int kMaxDepth = 64;
constexpr uint64_t kMaxAliasNodes = 100'000;

/// Whether a file of this name is read as YAML: .yaml and .yml, in any case.
bool is_yaml(const std::string& path);

/// Reads \p path: .yaml and .yml (any case) as YAML, anything else as JSON. The root is a mapping;
/// an empty YAML file is an empty one.
/// \throws ConfigError with the file, line and column.
NodePtr read_document(const std::string& path);

/// The YAML dialect of run files: YAML 1.1 with the number forms of 1.2, merge keys, UTF-8 only.
/// Refused: duplicate keys, ambiguous numbers, tabs as indentation, several documents, tags other
/// than the basic ones, depth beyond kMaxDepth, aliases that expand beyond kMaxAliasNodes.
/// \returns the root, of any kind; null for an empty text.
NodePtr read_yaml(const std::string& text, const std::string& file);

/// Strict JSON (RFC 8259): no byte-order mark, comments, NaN, trailing commas or duplicate keys.
NodePtr read_json(const std::string& text, const std::string& file);

}  // namespace stc::host
