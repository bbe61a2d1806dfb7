/// \file
/// Conformance of coordinators: the declaration, the table, and create with the defaults. What a
/// coordinator does with its nodes is its own tests'.
#pragma once

#include "stc/testing/subject.hpp"

namespace stc::testing {

using CoordinatorInstance = Instance<stc_coordinator_api, stc_coordinator>;

inline Report check_coordinator(const Subject& subject, const Section& given = {}) {
  Report report = check_declaration(subject);
  FakeHost host;
  {
    CoordinatorInstance first(subject, host, given), second(subject, host, given);
    report.context("create");
    report.expect(!first.error() && !second.error(), first.error().message);
    report.expect(first.error() || first.get() != second.get(), "two instances are one object");
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
