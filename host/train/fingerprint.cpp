#include "host/train/fingerprint.hpp"

#include <set>

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

void compare(const std::string& path, const Value& stored, const Value& current,
             std::vector<std::string>& differences) {
  if (stored == current) return;
  if (stored.is_object() && current.is_object()) {
    std::set<std::string> keys;
    for (const auto& item : stored.items()) keys.insert(item.key());
    for (const auto& item : current.items()) keys.insert(item.key());
    for (const std::string& key : keys) {
      const std::string inner = path.empty() ? key : path + "." + key;
      compare(inner, stored.value(key, Value()), current.value(key, Value()), differences);
    }
    return;
  }
  differences.push_back(path + ": checkpoint has " + stored.dump() + ", this run has " + current.dump());
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

std::vector<std::string> fingerprint_differences(const Value& stored, const Value& current) {
  std::vector<std::string> differences;
  compare("", stored, current, differences);
  return differences;
}

}  // namespace stc::host
