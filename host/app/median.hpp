/// \file
/// The median of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stc::host {

/// The middle value; of an even number the mean of both. \pre not empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace stc::host
