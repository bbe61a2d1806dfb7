#include "host/train/fingerprint.hpp"

#include <algorithm>
#include <set>

#include "host/checkpoint/value_differences.hpp"
#include "host/errors/error.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

/// Keys of a plugin's section that a resumed run may change.
bool may_change(const std::string& key) {
  static const std::set<std::string> kFree = {"lr", "weight_decay", "fused", "gradient_checkpointing"};
  return kFree.count(key) > 0;
}

Value own_keys(const Instance& instance) {
  Value keys = Value::object();
  for (const auto& [key, value] : instance.values().items()) {
    if (!may_change(key)) keys[key] = value;
  }
  return keys;
}

bool names(const std::string& allowed, const std::string& key) {
  return key == allowed || key.starts_with(allowed + ".");
}

}  // namespace

Value model_fingerprint(const Model& model) {
  Value value = Value::object();
  value["name"] = model.name();
  value["keys"] = own_keys(model);
  Value& shapes = value["parameters"] = Value::object();
  for (const ModelParameter& parameter : model.parameters()) {
    shapes[parameter.name] = to_tensor(parameter.tensor).sizes().vec();
  }
  return value;
}

Value optimizer_fingerprint(const Optimizer& optimizer) {
  Value value = Value::object();
  value["name"] = optimizer.name();
  value["keys"] = own_keys(optimizer);
  return value;
}

std::vector<FingerprintDifference> fingerprint_differences(const Value& stored, const Value& current) {
  std::vector<FingerprintDifference> differences;
  for_each_difference(stored, current, [&](std::vector<std::string> keys, const Value& before, const Value& now) {
    std::erase(keys, "keys");  // the object in which a plugin's own keys stand
    const std::string key = dotted(keys);
    differences.push_back({key, key + ": checkpoint has " + before.dump() + ", this run has " + now.dump()});
  });
  return differences;
}

std::vector<FingerprintDifference> take_allowed(std::vector<FingerprintDifference>& differences,
                                                const std::vector<std::string>& allowed) {
  for (const std::string& entry : allowed) {
    if (std::any_of(differences.begin(), differences.end(), [&](const auto& d) { return names(entry, d.key); }))
      continue;
    std::string keys;
    for (const FingerprintDifference& difference : differences) keys += (keys.empty() ? "" : ", ") + difference.key;
    throw CheckpointError("--allow " + entry + ": names no difference between the checkpoint and this run",
                          keys.empty() ? "there is none, leave it out" : "the differences are " + keys);
  }
  const auto middle = std::stable_partition(differences.begin(), differences.end(), [&](const auto& difference) {
    return std::none_of(allowed.begin(), allowed.end(),
                        [&](const auto& entry) { return names(entry, difference.key); });
  });
  std::vector<FingerprintDifference> taken(middle, differences.end());
  differences.erase(middle, differences.end());
  return taken;
}

}  // namespace stc::host
