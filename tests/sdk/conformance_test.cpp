// The conformance suites pass plugins that are right, and find the fault of those that have one.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "stc/testing/plain.hpp"

using stc::testing::Folder;
using stc::testing::Report;
using stc::testing::Section;
using stc::testing::Subject;

namespace {

std::string library(const char* name) { return std::string(STC_SDK_TEST_PLUGINS) + "/" + name; }

Report check(const std::string& path, int32_t kind, const std::string& name) {
  const Subject subject(path, kind, name);
  switch (kind) {
    case STC_KIND_SINK: {
      stc::testing::SinkCase given;
      given.unusable = Section{{"path", "no/such/folder/x"}};
      return stc::testing::check_sink(subject, given);
    }
    case STC_KIND_TOKENIZER: return stc::testing::check_tokenizer(subject, {{}, true, {"abab", "aab", "a\nb ab"}});
    case STC_KIND_DATASET: return stc::testing::check_dataset(subject);
    case STC_KIND_PRECISION: return stc::testing::check_precision(subject);
    default: {
      const Folder folder;
      return stc::testing::check_sync(subject, {{"place", name + folder.path().string()}}, folder.path().string());
    }
  }
}

struct Good {
  int32_t kind;
  const char* name;
};
std::ostream& operator<<(std::ostream& out, const Good& good) { return out << good.name; }
const Good kGood[] = {{STC_KIND_SINK, "lines"},        {STC_KIND_TOKENIZER, "bytes"},  {STC_KIND_TOKENIZER, "pairs"},
                      {STC_KIND_DATASET, "documents"}, {STC_KIND_PRECISION, "scaler"}, {STC_KIND_SYNC, "memory"}};

struct Broken {
  int32_t kind;
  const char* name;
  const char* failure;  // in what the suite says
};
std::ostream& operator<<(std::ostream& out, const Broken& broken) { return out << broken.name; }
const Broken kBroken[] = {
    {STC_KIND_SINK, "forgets", "what was there before the resumption is gone"},
    {STC_KIND_SINK, "throws", "event empty: no fields"},
    {STC_KIND_TOKENIZER, "lossy", "decode: got"},
    {STC_KIND_TOKENIZER, "cuts_anywhere", "changes the ids"},
    {STC_KIND_TOKENIZER, "out_of_range", "of 100"},
    {STC_KIND_TOKENIZER, "overruns", "wrote ids that do not fit"},
    {STC_KIND_TOKENIZER, "takes_any_id", "id 256 of 256 gave no error"},
    {STC_KIND_TOKENIZER, "undocumented", "depth has no line of doc"},
    {STC_KIND_TOKENIZER, "undocumented", "depth: its default 0 is outside of its limits"},
    {STC_KIND_DATASET, "skipping", "documents differ when the buffer starts empty"},
    {STC_KIND_DATASET, "nearby", "restarts elsewhere"},
    {STC_KIND_DATASET, "forgiving", "row 40 of 40 gave no error"},
    {STC_KIND_DATASET, "neighbours", "depends on its neighbours"},
    {STC_KIND_DATASET, "all_in_each_shard", "three shards do not hold the same documents as one"},
    {STC_KIND_DATASET, "any_split", "a split that does not exist was opened"},
    {STC_KIND_DATASET, "restless", "two instances have different fingerprints"},
    {STC_KIND_PRECISION, "amnesic", "scales differ after a save and a load"},
    {STC_KIND_PRECISION, "zero", "expected > 0"},
    {STC_KIND_PRECISION, "not_floating", "compute dtype 2"},
    {STC_KIND_SYNC, "no_conflict", "expected CONFLICT"},
    {STC_KIND_SYNC, "partial", "left a part of itself"},
    {STC_KIND_SYNC, "only_newest", "the first version has changed"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance)

BOOST_DATA_TEST_CASE(passes_what_is_right, kGood, good) {
  const Report report = check(library("stc_sdk_test_good.so"), good.kind, good.name);
  BOOST_TEST(report.passed(), report.text());
  BOOST_TEST_MESSAGE(good.name << ": " << report.checks() << " checks");
}

BOOST_DATA_TEST_CASE(finds_the_fault, kBroken, broken) {
  const Report report = check(library("stc_sdk_test_broken.so"), broken.kind, broken.name);
  const bool found = report.text().find(broken.failure) != std::string::npos;
  BOOST_TEST(found, report.text());
}

BOOST_AUTO_TEST_CASE(a_suite_that_checked_nothing_has_not_passed) { BOOST_TEST(!Report().passed()); }

BOOST_AUTO_TEST_CASE(an_unknown_plugin_is_named) {
  BOOST_CHECK_EXCEPTION(Subject(library("stc_sdk_test_good.so"), STC_KIND_SINK, "nothing"), std::runtime_error,
                        [](const std::exception& error) {
                          return std::string(error.what()) == "entry: the library has no sink nothing";
                        });
}

BOOST_AUTO_TEST_SUITE_END()
