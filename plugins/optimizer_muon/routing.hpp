/// \file
/// Which parameters Muon updates; the others get AdamW.
#pragma once

#include <string_view>

#include <stc/stable/optimizer.hpp>

namespace stc::muon {

/// True for the weight of a linear layer: role linear, two dimensions, floating, and no part of its dotted
/// name that says embedding or head (embed, embedding, wte, wpe, lm_head, classifier, output, output_proj,
/// score, score_proj, head). The role "force muon" goes to Muon when the tensor is a floating matrix and no
/// bias; every other role to AdamW.
bool is_muon(const Host& host, const stable::BoundParameter& parameter);

/// Whether a part of the name says embedding or head.
bool is_excluded_name(std::string_view name);

}  // namespace stc::muon
