/// \file
/// The settings that a resumed run must share with the one that it continues.
#pragma once

#include <string>
#include <vector>

#include "host/config/config.hpp"
#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"

namespace stc::host {

/// Name, the plugin's own keys, and the names, shapes and trainability of the parameters.
Value model_fingerprint(const Model& model);
/// Name and the plugin's own keys. The learning rate and decay are not part of it: they may change.
Value optimizer_fingerprint(const Optimizer& optimizer);

/// One setting that is not the same.
struct FingerprintDifference {
  std::string key;   // "data.seed", "optimizer.betas", "model.parameters.wte.weight"
  std::string text;  // "data.seed: checkpoint has 1, this run has 2"
};

/// In the order of the keys; empty: equal.
std::vector<FingerprintDifference> fingerprint_differences(const Value& stored, const Value& current);

/// Takes out of `differences` those that an entry of `allowed` names, by its key or by what comes before a dot of it
/// ("data" names data.seed), and returns them. \throws CheckpointError for an entry that names none.
std::vector<FingerprintDifference> take_allowed(std::vector<FingerprintDifference>& differences,
                                                const std::vector<std::string>& allowed);

}  // namespace stc::host
