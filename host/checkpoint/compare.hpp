/// \file
/// What differs between two checkpoints, as `stc-host inspect A B` shows it.
#pragma once

#include <string>

#include "host/checkpoint/store.hpp"

namespace stc::host {

/// {a, b: paths; equal; values: [{key, a, b}] for each differing number or text of the two states, by key, null where
/// one has none; tensors: [{part, name, what, elements, of, max_difference}] with `what` one of "only in A", "only in
/// B", "shape or type" and "values", the last three for "values" alone: how many elements differ, of how many, and by
/// how much at most (null where that is no number)}.
Value compare_checkpoints(const LoadedCheckpoint& a, const LoadedCheckpoint& b);

/// The same as lines of text.
std::string comparison_text(const Value& comparison);

}  // namespace stc::host
