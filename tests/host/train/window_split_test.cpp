// The same window of samples in other splits into micro-batches: the same loss and gradient norm.

#include <cmath>
#include <ostream>
#include <string>

#include <ATen/core/Tensor.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

/// 95 bytes: five whole blocks of 17 tokens and a short one, so that one row of each window is padded.
constexpr const char* kText =
    "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs 0123456789";
static_assert(std::char_traits<char>::length(kText) == 5 * 17 + 10);

struct Case {
  const char* name;
  std::vector<std::string> sets;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

const Case kCases[] = {
    {"a model with its own loss", {}},
    {"a model that returns logits", {"model.name=test_tiny_lm", "model.vocab=256"}},
    {"its own loss, untied, checkpointed", {"gradient_checkpointing=true", "model.tie_weights=false"}},
};

std::string yaml(const std::string& data) {
  return "run: {device: cpu, max_steps: 4, threads: 1}\n"
         "model: {vocab_size: 256, max_seq_len: 16}\n"
         "data: {" +
         data +
         ", target_batch_size: 6, drop_last: false}\n"
         "optimizer: {name: probe_sgd, lr: 0.1, weight_decay: 0.0, grad_clip: 1000.0}\n"
         "scheduler: {name: constant, warmup_steps: 0}\n"
         "checkpoint: {enabled: false}\n";
}

struct Outcome {
  stc::test::Records records;
  Counters counters;
};

Outcome train(const Case& c, const std::string& data, int micro_batch) {
  const stc::test::RunFolder folder;
  std::vector<std::string> sets = {"data.micro_batch_size=" + std::to_string(micro_batch)};
  sets.insert(sets.end(), c.sets.begin(), c.sets.end());
  std::string text = yaml(data);
  if (text.find("TEXT") != std::string::npos) text.replace(text.find("TEXT"), 4, folder.write("t.txt", kText));
  Registry& registry = stc::test::test_registry({STC_TEST_STABLE_PLUGINS});
  const std::unique_ptr<Run> run = stc::test::composed(folder, text, sets, ComposeMode::kTrain, registry);
  Outcome out;
  FitResult result;
  out.records = stc::test::fit_recorded(*run, &result);
  out.counters = result.counters;
  return out;
}

void check_close(double found, double expected, const std::string& what) {
  BOOST_TEST_INFO(what << ": " << found << " and " << expected);
  BOOST_CHECK_LE(std::abs(found - expected), 1e-5 * std::abs(expected));
}

void compare(const Case& c, const std::string& data) {
  const Outcome whole = train(c, data, 6);
  BOOST_REQUIRE_EQUAL(whole.records.steps.size(), 4u);
  for (const int micro_batch : {1, 2, 3}) {
    const Outcome split = train(c, data, micro_batch);
    BOOST_REQUIRE_EQUAL(split.records.steps.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      const std::string where = "micro-batch " + std::to_string(micro_batch) + ", step " + std::to_string(i + 1);
      check_close(split.records.steps[i].at("loss"), whole.records.steps[i].at("loss"), where + " loss");
      check_close(split.records.steps[i].at("grad_norm"), whole.records.steps[i].at("grad_norm"), where + " norm");
    }
    BOOST_CHECK_EQUAL(split.counters.samples, whole.counters.samples);
    BOOST_CHECK_EQUAL(split.counters.tokens, whole.counters.tokens);
  }
}

BOOST_AUTO_TEST_SUITE(window_split)

BOOST_DATA_TEST_CASE(gives_the_same_step_with_padded_rows, boost::unit_test::data::make(kCases)) {
  compare(sample, "text_path: TEXT");
}

BOOST_DATA_TEST_CASE(gives_the_same_step_with_whole_rows, boost::unit_test::data::make(kCases)) {
  compare(sample, "num_tokens: 64");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
