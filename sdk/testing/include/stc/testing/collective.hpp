/// \file
/// Conformance of collectives: the declaration, the table, and create with the defaults. What a
/// collective does between its ranks is its own tests'.
#pragma once

#include "stc/testing/subject.hpp"

namespace stc::testing {

using CollectiveInstance = Instance<stc_collective_api, stc_collective>;

inline Report check_collective(const Subject& subject, const Section& given = {}) {
  Report report = check_declaration(subject);
  FakeHost host;
  {
    CollectiveInstance first(subject, host, given), second(subject, host, given);
    report.context("create");
    report.expect(!first.error() && !second.error(), first.error().message);
    report.expect(first.error() || first.get() != second.get(), "two instances are one object");
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
