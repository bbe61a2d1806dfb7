#include "host/errors/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace stc::host {
namespace {

/// Optimal string alignment distance: Levenshtein's with swaps of neighbours (Damerau 1964), where no
/// part is edited twice.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const size_t longest = std::max(word.size(), candidate.size());
    const size_t length_gap = longest - std::min(word.size(), candidate.size());
    const size_t limit = std::max<size_t>(1, (longest + 2) / 3);
    if (word.size() > 200 || length_gap > limit) continue;
    const size_t d = distance(word, candidate);
    if (d <= limit && d < longest && (best.empty() || d < best_distance)) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace stc::host
