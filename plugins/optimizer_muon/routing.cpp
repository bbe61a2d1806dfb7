#include "routing.hpp"

#include <algorithm>
#include <array>

#include <stc/core/dtype.hpp>

namespace stc::muon {
namespace {

constexpr std::array<std::string_view, 11> kExcluded = {"embed",      "embedding", "wte",         "wpe",   "lm_head",
                                                        "classifier", "output",    "output_proj", "score", "score_proj",
                                                        "head"};

bool is_floating_matrix(const stc_tensor_info& info) {
  const bool floating = info.dtype == STC_DTYPE_FLOAT32 || info.dtype == STC_DTYPE_FLOAT64 ||
                        info.dtype == STC_DTYPE_FLOAT16 || info.dtype == STC_DTYPE_BFLOAT16;
  return floating && info.ndim == 2;
}

std::string_view leaf_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

bool is_excluded_name(std::string_view name) {
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (std::find(kExcluded.begin(), kExcluded.end(), part) != kExcluded.end()) return true;
    if (dot == std::string_view::npos) return false;
    name.remove_prefix(dot + 1);
  }
}

bool is_muon(const Host& host, const stable::BoundParameter& parameter) {
  if (parameter.role != STC_ROLE_LINEAR && parameter.role != STC_ROLE_FORCE_MUON) return false;
  if (leaf_of(parameter.name).ends_with("bias")) return false;
  if (!is_floating_matrix(stable::tensor_info(host, parameter.tensor.get()))) return false;
  return parameter.role == STC_ROLE_FORCE_MUON || !is_excluded_name(parameter.name);
}

}  // namespace stc::muon
