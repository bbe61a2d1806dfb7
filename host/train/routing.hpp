/// \file
/// Which parameters the optimizer updates by which algorithm, for people to see.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/train/model.hpp"
#include "host/train/optimizer.hpp"

namespace stc::host {

/// The parameters of one algorithm.
struct AlgorithmShare {
  std::string algorithm;
  int64_t tensors = 0;
  int64_t parameters = 0;  // numbers in them
  /// Names with `*` for their numbers, and how many parameters have each: {"h.*.attn.q_proj.weight", 8}.
  std::vector<std::pair<std::string, int64_t>> names;
};

/// By number of parameters, the largest share first. \param bound in the order of the optimizer's bind.
std::vector<AlgorithmShare> algorithm_shares(const Optimizer& optimizer,
                                             const std::vector<const ModelParameter*>& bound);

/// "muon 14 tensors 57344, adamw 6 tensors 8576"
std::string summary_of(const std::vector<AlgorithmShare>& shares);

/// "muon updates 14 tensors, 57344 parameters: h.*.attn.q_proj.weight (2), ..."
std::string line_of(const AlgorithmShare& share);

}  // namespace stc::host
