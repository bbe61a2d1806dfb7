/// \file
/// A run file as a tree that remembers where each key and value was written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/errors/error.hpp"

namespace stc::host {

struct Node;
/// Trees share nodes (YAML aliases), so they are never changed after reading.
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  enum class Kind { kScalar, kList, kMap };
  struct Entry {
    std::string key;
    Location at;  // of the key
    NodePtr value;
  };

  Kind kind = Kind::kScalar;
  std::string text;            // kScalar: as written, without quotes; "" or ~ plain is null
  bool quoted = false;         // kScalar: a string whatever it looks like
  bool tagged = false;         // kScalar: quoted by the tag !!str, not by quotes
  Location at;                 // of the value
  std::vector<NodePtr> items;  // kList
  std::vector<Entry> entries;  // kMap, keys unique, merges done
  uint64_t size = 1;           // nodes of the expanded tree, itself included
  int height = 1;              // levels of the tree, itself included
};

bool is_null(const Node& node);
const Node::Entry* find_entry(const Node& map, const std::string& key);

/// The value as a message shows it: `0.1`, `"false"`, `[1, 2]`, `{a: 1}`, `null`; cut at 60
/// characters.
std::string show(const Node& node);

/// Numbers, booleans and null become what they look like unless quoted; integers are exact up to 64
/// bits.
Value to_value(const Node& node);

/// The reverse, for values that come from a stored configuration. \p at is given to every node.
NodePtr from_value(const Value& value, const Location& at);

NodePtr make_scalar(std::string text, bool quoted, Location at);

}  // namespace stc::host
