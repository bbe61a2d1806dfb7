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

/// One line for each difference: "data.seed: checkpoint has 1, this run has 2". Empty: equal.
std::vector<std::string> fingerprint_differences(const Value& stored, const Value& current);

}  // namespace stc::host
