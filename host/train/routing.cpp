#include "host/train/routing.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

/// Parts that are numbers become `*`.
std::string pattern_of(const std::string& name) {
  std::string out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (begin > 0) out += '.';
    out += number ? "*" : part;
    begin = end + 1;
  }
  return out;
}

template <class Items, class Key>
auto& entry(Items& items, const std::string& key, Key&& key_of) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return key_of(item) == key; });
  if (found != items.end()) return *found;
  auto& made = items.emplace_back();
  return made;
}

}  // namespace

std::vector<AlgorithmShare> algorithm_shares(const Optimizer& optimizer,
                                             const std::vector<const ModelParameter*>& bound) {
  std::vector<AlgorithmShare> shares;
  for (size_t i = 0; i < bound.size(); ++i) {
    const std::string algorithm = optimizer.algorithm(i);
    AlgorithmShare& share = entry(shares, algorithm, [](const AlgorithmShare& s) { return s.algorithm; });
    share.algorithm = algorithm;
    share.tensors += 1;
    share.parameters += to_tensor(bound[i]->tensor).numel();
    const std::string pattern = pattern_of(bound[i]->name);
    auto& name = entry(share.names, pattern, [](const auto& n) { return n.first; });
    name.first = pattern;
    name.second += 1;
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const AlgorithmShare& a, const AlgorithmShare& b) { return a.parameters > b.parameters; });
  return shares;
}

std::string summary_of(const std::vector<AlgorithmShare>& shares) {
  std::string text;
  for (const AlgorithmShare& share : shares) {
    if (!text.empty()) text += ", ";
    text += share.algorithm + " " + std::to_string(share.tensors) + " tensors " + std::to_string(share.parameters);
  }
  return text;
}

std::string line_of(const AlgorithmShare& share) {
  std::string text = share.algorithm + " updates " + std::to_string(share.tensors) +
                     (share.tensors == 1 ? " tensor, " : " tensors, ") + std::to_string(share.parameters) +
                     " parameters: ";
  for (size_t i = 0; i < share.names.size(); ++i) {
    if (i > 0) text += ", ";
    text += share.names[i].first;
    if (share.names[i].second > 1) text += " (" + std::to_string(share.names[i].second) + ")";
  }
  return text;
}

}  // namespace stc::host
