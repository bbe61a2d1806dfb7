// Keys of later versions: validate warns, run refuses, defaults pass.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

struct LaterCase {
  std::string yaml;
  std::string message;
};
std::ostream& operator<<(std::ostream& out, const LaterCase& sample) { return out << sample.yaml; }

const std::vector<LaterCase> kLater{
    {"data: {dataset: x.pt}", "data.dataset: got \"x.pt\", not in this version"},
    {"plugins: {pins: {adamw: abc}}", "plugins.pins: got {\"adamw\":\"abc\"}, not in this version"},
    {"parallel: {mode: ddp}", "parallel.mode: got \"ddp\", not in this version"},
    {"distributed: {enabled: true, repo_id: a/b, node_id: n}", "distributed.enabled: got true, not in this version"},
};

const std::vector<std::string> kNow{
    "run: {max_time: null, eval_every: ~, nan_policy: stop}",
    "run: {nan_policy: skip}",
    "scheduler: {name: wsd, decay_steps: 3}",
    "scheduler: {name: cosine_with_restarts, cycles: 3}",
    "optimizer: {groups: [{match: x, lr: 1}], no_decay: true, muon_lr: 0.1}",
    "data: {dataset: null, validation_path: null}",
    "optimizer: {groups: [], no_decay: false, muon_lr: null}",
    "scheduler: {decay_steps: null, cycles: null, name: cosine}",
    "logging: {sample_prompts: []}",
    "plugins: {pins: {}}",
    "parallel: {mode: none, backend: other, timeout_s: 5}",
    "distributed: {enabled: false, repo_id: a/b, role: master, inner_steps: 3}",
    "ema: null\nearly_stop: ~",
    "compile: true",
    "ooo_backprop: true\nooo_streams: 2",
    "run: {fast_path: require, loss_average: microbatches, threads: 2}",
    "checkpoint: {keep_every: 100, resume: auto}",
    "run: {max_time: 60, eval_every: 5}\ndata: {validation_path: {a: v.txt}}\n"
    "logging: {sample_prompts: [hello]}\nema: {decay: 0.9}\nearly_stop: {patience: 3}",
};

BOOST_AUTO_TEST_SUITE(later)

BOOST_DATA_TEST_CASE(validate_warns_and_run_refuses, kLater, sample) {
  Config config = load(sample.yaml, printing());
  BOOST_TEST(contains(warnings_of(config), sample.message + "\n"));
  for (const Warning& warning : config.warnings()) {
    if (warning.message == sample.message) BOOST_TEST(warning.at.file == "run.yaml");
  }
  std::string rendered = error_of(sample.yaml);
  BOOST_TEST(rendered.starts_with("error: " + sample.message + "\n  at run.yaml:1:"));
}

BOOST_DATA_TEST_CASE(defaults_and_present_features_pass, kNow, yaml) {
  BOOST_TEST(error_of(yaml) == "");
  BOOST_TEST(warnings_of(load(yaml)) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
