/// \file
/// "nearest key is ...": the closest of the known words to what a user wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stc::host {

/// The known word with the smallest edit distance (insert, delete, replace, swap of neighbours, each 1),
/// the first of equals; empty when none is closer than about a third of the longer word.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace stc::host
