/// \file
/// Where two JSON values differ.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/config/config.hpp"

namespace stc::host {

/// Calls visit(keys, a, b) for each place where two trees of objects differ, by rising keys; null stands for what only
/// the other one has. Lists are compared as wholes.
template <class Visit>
void for_each_difference(const Value& a, const Value& b, Visit&& visit, std::vector<std::string> keys = {}) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) {
    visit(keys, a, b);
    return;
  }
  std::set<std::string> all;
  for (const auto& item : a.items()) all.insert(item.key());
  for (const auto& item : b.items()) all.insert(item.key());
  for (const std::string& key : all) {
    keys.push_back(key);
    for_each_difference(a.value(key, Value()), b.value(key, Value()), visit, keys);
    keys.pop_back();
  }
}

/// "data.seed"
inline std::string dotted(const std::vector<std::string>& keys) {
  std::string path;
  for (const std::string& key : keys) path += (path.empty() ? "" : ".") + key;
  return path;
}

}  // namespace stc::host
