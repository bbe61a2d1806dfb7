/// \file
/// Roles of parameters that a model only names, as a torch::nn::Module does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "stc/abi/model.h"

namespace stc {

/// HEAD or EMBEDDING where a part of the dotted name, the leaf or any parent, is one of the words that say so
/// in whatever case; else OTHER.
inline int32_t role_in_name(std::string_view name) {
  const auto is = [](std::string_view part, std::string_view word) {
    return part.size() == word.size() && std::equal(part.begin(), part.end(), word.begin(), [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
           });
  };
  const auto one_of = [&](std::string_view part, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return is(part, word); });
  };
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (one_of(part, {"lm_head", "classifier", "output", "output_proj", "score", "score_proj", "head"})) {
      return STC_ROLE_HEAD;
    }
    if (one_of(part, {"embed", "embedding", "wte", "wpe"})) return STC_ROLE_EMBEDDING;
    begin = end + 1;
  }
  return STC_ROLE_OTHER;
}

/// The last part of a dotted name.
inline std::string_view leaf_of(std::string_view name) {
  const size_t last = name.rfind('.');
  return last == std::string_view::npos ? name : name.substr(last + 1);
}

/// The role of a parameter from its dotted name, its rank, and the type name of the module that holds
/// it ("torch::nn::LinearImpl"; empty when unknown). A weight is called linear only when its module
/// says so; a doubtful one is "other".
inline int32_t guess_role(std::string_view name, int64_t rank, std::string_view module_type) {
  const auto type_has = [&](std::string_view word) { return module_type.find(word) != std::string_view::npos; };
  if (leaf_of(name) == "bias") return STC_ROLE_BIAS;
  if (const int32_t role = role_in_name(name); role != STC_ROLE_OTHER) return role;
  if (type_has("Embedding")) return STC_ROLE_EMBEDDING;
  if (type_has("Norm")) return STC_ROLE_NORM;
  if (rank == 2 && type_has("Linear")) return STC_ROLE_LINEAR;
  return STC_ROLE_OTHER;
}

}  // namespace stc
