#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/train/shape_validation.hpp"

namespace stc::host {
namespace {

Settings settings(const std::string& alignment, bool warn_on_cpu) {
  Settings out;
  out.shapes.alignment = alignment;
  out.shapes.warn_on_cpu = warn_on_cpu;
  out.data.micro_batch_size = 3;
  out.data.accumulation_steps = 8;
  out.data.block_size = 20;
  out.data.vocab_size = 100;
  return out;
}

struct Row {
  const char* alignment;
  const char* device;
  const char* precision;
  bool warn_on_cpu;
  std::optional<int64_t> expected;
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.alignment << " on " << row.device << " in " << row.precision << (row.warn_on_cpu ? ", warned" : "");
}

const Row kRows[] = {
    {"auto", "cuda", "bf16", false, 8},
    {"auto", "cuda", "fp16", false, 8},
    {"auto", "cuda", "fp32", false, std::nullopt},
    {"16", "cuda", "fp32", false, 16},
    {"none", "cuda", "bf16", false, std::nullopt},
    {"auto", "cpu", "bf16", true, std::nullopt},
    {"16", "cpu", "fp32", false, std::nullopt},
    {"16", "cpu", "fp32", true, 16},
    {"16", "mps", "fp32", false, std::nullopt},
    {"64", "mps", "fp32", true, 64},
};

BOOST_AUTO_TEST_SUITE(shape_validation)

BOOST_DATA_TEST_CASE(chooses_the_alignment, boost::unit_test::data::make(kRows)) {
  const ShapeReport report =
      validate_shapes(settings(sample.alignment, sample.warn_on_cpu), sample.device, sample.precision, {});
  BOOST_CHECK(report.alignment == sample.expected);
  if (!sample.expected) BOOST_CHECK(report.warnings.empty());
}

BOOST_AUTO_TEST_CASE(disabled_looks_at_nothing) {
  Settings off = settings("16", true);
  off.shapes.enabled = false;
  BOOST_CHECK(!validate_shapes(off, "cuda", "bf16", {{"h.in_features", 3}}).alignment);
}

BOOST_AUTO_TEST_CASE(reports_each_kind_once_with_the_next_multiple) {
  Settings all = settings("auto", false);
  all.shapes.check_vocab = true;
  const ShapeReport report =
      validate_shapes(all, "cuda", "bf16",
                      {{"a.in_features", 12}, {"a.in_features", 12}, {"a.out_features", 16}, {"b.in_features", 9}});
  std::vector<std::string> found;
  for (const ShapeWarning& w : report.warnings) {
    found.push_back(w.code + " " + w.field + " " + std::to_string(w.value) + " -> " +
                    (w.suggested ? std::to_string(*w.suggested) : "none"));
  }
  const std::vector<std::string> expected = {
      "batch_alignment data.micro_batch_size 3 -> 8",
      "sequence_alignment data.block_size 20 -> 24",
      "token_alignment data.micro_batch_size * data.block_size 60 -> 64",
      "model_alignment a.in_features 12 -> 16",
      "model_alignment b.in_features 9 -> 16",
      "vocab_alignment model.vocab_size 100 -> 104",
  };
  BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

BOOST_AUTO_TEST_CASE(suggests_no_micro_batch_that_would_not_divide_the_target) {
  Settings odd = settings("auto", false);
  odd.data.accumulation_steps = 7;  // target 21
  const ShapeReport report = validate_shapes(odd, "cuda", "bf16", {});
  BOOST_REQUIRE(!report.warnings.empty());
  BOOST_CHECK_EQUAL(report.warnings[0].code, "batch_alignment");
  BOOST_CHECK(!report.warnings[0].suggested);
}

BOOST_AUTO_TEST_CASE(each_check_can_be_turned_off) {
  Settings none = settings("auto", false);
  none.shapes.check_batch = none.shapes.check_sequence = none.shapes.check_model = false;
  BOOST_CHECK(validate_shapes(none, "cuda", "bf16", {{"a.in_features", 12}}).warnings.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
