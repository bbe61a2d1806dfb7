/// \file
/// Roles of parameters that a model only names, as a torch::nn::Module does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stc/abi/model.h"

namespace stc {

/// The role of a parameter from its dotted name, its rank, and the type name of the module that holds
/// it ("torch::nn::LinearImpl"; empty when unknown). A weight is called linear only when its module
/// says so; a doubtful one is "other".
inline int32_t guess_role(std::string_view name, int64_t rank, std::string_view module_type) {
  auto one_of = [](std::string_view part, std::initializer_list<std::string_view> words) {
    for (std::string_view word : words) {
      if (part == word) return true;
    }
    return false;
  };
  auto type_has = [&](std::string_view word) { return module_type.find(word) != std::string_view::npos; };

  size_t last = name.rfind('.');
  std::string_view leaf = last == std::string_view::npos ? name : name.substr(last + 1);
  if (leaf == "bias") return STC_ROLE_BIAS;
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = name.find('.', begin);
    if (end == std::string_view::npos) end = name.size();
    std::string_view part = name.substr(begin, end - begin);
    if (one_of(part, {"lm_head", "classifier", "output", "output_proj", "score", "score_proj", "head"})) {
      return STC_ROLE_HEAD;
    }
    if (one_of(part, {"embed", "embedding", "wte", "wpe"})) return STC_ROLE_EMBEDDING;
    begin = end + 1;
  }
  if (type_has("Embedding")) return STC_ROLE_EMBEDDING;
  if (type_has("Norm")) return STC_ROLE_NORM;
  if (rank == 2 && type_has("Linear")) return STC_ROLE_LINEAR;
  return STC_ROLE_OTHER;
}

}  // namespace stc
