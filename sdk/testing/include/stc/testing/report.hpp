/// \file
/// What a conformance suite found. Independent of any test framework:
///   const auto report = stc::testing::check_sink(...);
///   BOOST_TEST(report.passed(), report.text());
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stc::testing {

class Report {
 public:
  /// Counts a check, and remembers what it says when it fails.
  bool expect(bool holds, const std::string& otherwise) {
    ++checks_;
    if (!holds) {
      failures_.push_back(context_.empty() ? otherwise : context_ + ": " + otherwise);
    }
    return holds;
  }
  void fail(const std::string& what) { expect(false, what); }
  /// Prefix of further failures: the slot or the property under test.
  void context(std::string context) { context_ = std::move(context); }
  void merge(const Report& other) {
    checks_ += other.checks_;
    failures_.insert(failures_.end(), other.failures_.begin(), other.failures_.end());
  }

  /// False also when nothing was checked.
  bool passed() const { return failures_.empty() && checks_ > 0; }
  std::size_t checks() const { return checks_; }
  const std::vector<std::string>& failures() const { return failures_; }
  std::string text() const {
    std::string text = std::to_string(checks_) + " checks, " + std::to_string(failures_.size()) + " failed";
    for (const std::string& failure : failures_) {
      text += "\n  " + failure;
    }
    return text;
  }

 private:
  std::size_t checks_ = 0;
  std::vector<std::string> failures_;
  std::string context_;
};

}  // namespace stc::testing
