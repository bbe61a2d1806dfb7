#include "host/app/summary.hpp"

#include <cstdio>

#include "host/events/text.hpp"

namespace stc::host {

std::string summary_line(const FitResult& result) {
  const Counters& counters = result.counters;
  return "completed steps=" + std::to_string(counters.step) + " samples=" + std::to_string(counters.samples) +
         " tokens=" + std::to_string(counters.tokens) +
         " loss=" + (result.loss ? shortest_float(*result.loss) : "None");
}

void print_summary(const FitResult& result) {
  std::puts(summary_line(result).c_str());
  std::fflush(stdout);
}

}  // namespace stc::host
