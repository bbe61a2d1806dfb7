/// \file
/// "Did you mean": the closest of some words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stc::host {

/// Edits (insert, delete, replace, swap of neighbours) that turn \p a into \p b, letter case
/// ignored. Source: Damerau-Levenshtein, the optimal string alignment form.
size_t edit_distance(std::string_view a, std::string_view b);

/// The word with the smallest distance, if it is close enough to be a slip: at most 2 edits, or a
/// third of the length; the first of equals.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

/// "a, b, c".
std::string join(const std::vector<std::string>& words);

}  // namespace stc::host
