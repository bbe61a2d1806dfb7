/// \file
/// Which parameters Muon updates.
#pragma once

#include <cstdint>
#include <string_view>

#include <stc/core/model_roles.hpp>

namespace stc::muon {

/// The weights of linear layers that are neither embedding nor head, by role and by the parts of the name. A
/// parameter whose model forces the role is taken whatever its name, unless it is a bias or no matrix.
inline bool takes(int32_t role, std::string_view name, size_t rank, int64_t numel) {
  if (rank != 2 || numel == 0 || leaf_of(name).ends_with("bias")) return false;
  if (role == STC_ROLE_FORCE_MUON) return true;
  return role == STC_ROLE_LINEAR && role_in_name(name) == STC_ROLE_OTHER;
}

}  // namespace stc::muon
