// Values that follow from others, and rules between keys.

#include <cstdlib>
#include <ostream>
#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/settings.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

/// Step targets: absent numbers are 0.
struct TargetCase {
  std::string yaml;
  int64_t flag;
  int64_t target;
  int64_t schedule;
  std::string warning;
};
std::ostream& operator<<(std::ostream& out, const TargetCase& sample) {
  return out << sample.yaml << " --max-steps " << sample.flag;
}

struct DerivedCase {
  std::string yaml;
  std::string path;
  std::string json;
};
std::ostream& operator<<(std::ostream& out, const DerivedCase& sample) { return out << sample.yaml; }

struct ConflictCase {
  std::string yaml;
  std::string rendered;
};
std::ostream& operator<<(std::ostream& out, const ConflictCase& sample) { return out << sample.yaml; }

const std::string kReplaced = "scheduler.max_steps: the written 1000 is the default, and is replaced by ";

const std::vector<TargetCase> kTargets{
    {"{}", 0, 1000, 1000, ""},
    {"run: {max_steps: 200}", 0, 200, 200, ""},
    {"data: {max_steps: 300}", 0, 300, 300, ""},
    {"run: {max_steps: 200}\ndata: {max_steps: 300}", 0, 300, 200, ""},
    {"run: {max_steps: 1000}\ndata: {max_steps: 300}", 0, 300, 300, ""},
    {"run: {max_steps: 200}\nscheduler: {max_steps: 5000}", 0, 200, 5000, ""},
    {"run: {max_steps: 200}\nscheduler: {max_steps: 1000}", 0, 200, 200, kReplaced + "run.max_steps (200)\n"},
    {"data: {max_steps: 300}\nscheduler: {max_steps: 1000}", 0, 300, 300, kReplaced + "data.max_steps (300)\n"},
    {"data: {max_steps: 300}\nscheduler: {max_steps: 5000}", 0, 300, 5000, ""},
    {"{}", 400, 400, 400, ""},
    {"run: {max_steps: 200}\ndata: {max_steps: 300}\nscheduler: {max_steps: 5000}", 400, 400, 400, ""},
    {"data: {max_steps: 300}", 1000, 1000, 1000, ""},
    {"scheduler: {warmup_steps: 1000}", 0, 1000, 1000,
     "scheduler.warmup_steps: got 1000, so warm-up never ends: run.max_steps is 1000\n"},
    {"max_steps: 100", 0, 100, 100, "scheduler.warmup_steps: got 100, so warm-up never ends: run.max_steps is 100\n"},
    {"data: {max_steps: 50}\nmax_steps: 500", 0, 50, 500,
     "scheduler.warmup_steps: got 100, so warm-up never ends: data.max_steps is 50\n"},
};

const std::vector<DerivedCase> kDerived{
    {"log_every: 10", "logging.every_steps", "10"},
    {"log_every: 10\nlogging: {every_steps: 5}", "logging.every_steps", "5"},
    {"log_every: 10\nlogging: {every_steps: 1}", "logging.every_steps", "10"},
    {"model: {n_head: 4}", "model.n_kv_head", "4"},
    {"model: {n_head: 4, n_kv_head: 2}", "model.n_kv_head", "2"},
    {"model: {d_model: 64}", "model.d_ff", "256"},
    {"model: {max_seq_len: 64}", "data.block_size", "64"},
    {"model: {vocab_size: 300}", "data.vocab_size", "300"},
    {"run: {seed: 5}", "data.seed", "5"},
    {"gradient_checkpointing: true", "model.gradient_checkpointing", "true"},
    {"model: {gradient_checkpointing: true}", "gradient_checkpointing", "true"},
    {"gradient_checkpointing: false\nmodel: {gradient_checkpointing: true}", "gradient_checkpointing", "true"},
    {"data: {text_path: a.txt}", "data.name", "\"text\""},
    {"data: {text_path: a.txt, synthetic: false}", "data.name", "\"text\""},
    {"data: {text_path: a.txt, name: synthetic}", "data.name", "\"synthetic\""},
    {"{}", "data.name", "\"synthetic\""},
    {"data: {text_path: ''}", "data.name", "\"synthetic\""},
    {"distributed: {repo_id: owner/name}", "distributed.backend", "\"hub\""},
    {"distributed: {repo_id: ./here}", "distributed.backend", "\"filesystem\""},
    {"distributed: {repo_id: ../here}", "distributed.backend", "\"filesystem\""},
    {"distributed: {repo_id: /here}", "distributed.backend", "\"filesystem\""},
    {"distributed: {repo_id: '~/here'}", "distributed.backend", "\"filesystem\""},
    {"distributed: {repo_id: /here, backend: hub}", "distributed.backend", "\"hub\""},
};

const std::vector<ConflictCase> kConflicts{
    {"data: {micro_batch_size: 4, target_batch_size: 6}",
     "error: data.target_batch_size: got 6, expected a multiple of data.micro_batch_size (4)\n  at "
     "run.yaml:1:48\n"},
    {"data: {micro_batch_size: 4}",
     "error: data.target_batch_size: got 1, expected a multiple of data.micro_batch_size (4)\n  at "
     "run.yaml:1:26\n"},
    {"model: {n_head: 6, n_kv_head: 4, d_model: 48}",
     "error: model.n_head: got 6, expected a multiple of model.n_kv_head (4)\n  at "
     "run.yaml:1:17\n"},
    {"model: {d_model: 100}",
     "error: model.d_model: got 100, expected a multiple of model.n_head (8)\n  at "
     "run.yaml:1:18\n"},
    {"model: {d_model: 24}",
     "error: model.d_model: got 24, expected an even number of channels for each of model.n_head "
     "(8)\n  at run.yaml:1:18\n"},
    {"model: {name: gpt, d_model: 24}", "error: model.d_model: got 24, expected an even number"},
    {"data: {block_size: 32}\nmodel: {max_seq_len: 16}",
     "error: data.block_size: got 32, expected at most model.max_seq_len (16)\n  at "
     "run.yaml:1:20\n"},
    {"data: {synthetic: false}",
     "error: data.synthetic: got false, and there is no other source of data\n  at "
     "run.yaml:1:19\n"},
    {"optimizer: {muon_plus: true}",
     "error: optimizer.muon_plus: got true, expected false unless optimizer.name is muon (adamw)\n "
     " at run.yaml:1:24\n"},
    {"optimizer: cautious",
     "error: optimizer.name: got cautious, which wraps another optimizer\n  at run.yaml:1:12\n"
     "  hint: name that optimizer and set optimizer.cautious: true\n"},
    {"distributed: {retry_initial: 5, retry_max: 2}",
     "error: distributed.retry_max: got 2, expected >= distributed.retry_initial (5)\n  at "
     "run.yaml:1:44\n"},
    {"distributed: {retry_initial: 100}",
     "error: distributed.retry_max: got 60.0, expected >= distributed.retry_initial (100)\n  at "
     "run.yaml:1:30\n"},
    {"distributed: {enabled: true, mode: single, repo_id: a/b}",
     "error: distributed.mode: got single, expected dumb_diloco or a coordinator plugin when "
     "distributed.enabled is true\n"
     "  at run.yaml:1:36\n"},
    {"distributed: {enabled: true}",
     "error: distributed.repo_id: missing, expected a repository when distributed.enabled is "
     "true\n  at run.yaml:1:24\n"},
    {"distributed: {enabled: true, repo_id: ''}", "error: distributed.repo_id: missing"},
};

/// Sets an environment variable for a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

BOOST_AUTO_TEST_SUITE(rules)

BOOST_DATA_TEST_CASE(step_targets, kTargets, sample) {
  LoadRequest request;
  if (sample.flag > 0) request.max_steps = sample.flag;
  Config config = load(sample.yaml, request);
  BOOST_TEST(make_settings(config).run.target_step == sample.target);
  BOOST_TEST(config.at("scheduler.max_steps") == sample.schedule);
  BOOST_TEST(warnings_of(config) == sample.warning);
  // What is stored with a checkpoint means the same run.
  FakeCatalog catalog;
  Config again = config_from_value(config.root(), catalog);
  BOOST_TEST(make_settings(again).run.target_step == sample.target);
  BOOST_TEST(again.at("scheduler.max_steps") == sample.schedule);
}

BOOST_DATA_TEST_CASE(derives, kDerived, sample) { BOOST_TEST(load(sample.yaml).at(sample.path).dump() == sample.json); }

BOOST_DATA_TEST_CASE(refuses_conflicts, kConflicts, sample) {
  std::string rendered = error_of(sample.yaml, printing());
  BOOST_TEST(rendered.substr(0, sample.rendered.size()) == sample.rendered);
}

BOOST_AUTO_TEST_CASE(more_threads_than_cpus_are_told) {
  const std::string cpus = std::to_string(std::thread::hardware_concurrency());
  const std::string warning = warnings_of(load("run: {threads: 4096}\n"));
  BOOST_TEST(contains(warning, "run.threads: got 4096, this machine has " + cpus + " CPU"));
  BOOST_TEST(!contains(warnings_of(load("run: {threads: 1}\n")), "run.threads"));
  BOOST_TEST(!contains(warnings_of(load("run: {threads: auto}\n")), "run.threads"));
}

BOOST_AUTO_TEST_CASE(warns_of_an_ignored_vocabulary) {
  Config config = load("data: {vocab_size: 100}\nmodel: {vocab_size: 256}\n");
  BOOST_TEST(warnings_of(config) == "data.vocab_size: got 100, is ignored: model.vocab_size (256) rules\n");
  BOOST_TEST(config.warnings()[0].at.str() == "run.yaml:1:20");
  BOOST_TEST(config.at("data.vocab_size") == 100);
}

BOOST_AUTO_TEST_CASE(warns_of_an_ignored_dataset) {
  Config config = load("data: {text_path: a.txt, dataset: b.pt}\n");
  BOOST_TEST(warnings_of(config) == "data.dataset: ignored, data.text_path comes first\n");
}

BOOST_AUTO_TEST_CASE(long_samples_are_a_warning_for_other_models) {
  FakeCatalog catalog;
  catalog.add(make_plugin(STC_KIND_MODEL, "rnn", {make_param("max_seq_len", STC_PARAM_INT, "16")}));
  Config config = load("model: {name: rnn}\ndata: {block_size: 32}\n", catalog);
  BOOST_TEST(warnings_of(config) == "data.block_size: got 32, expected at most model.max_seq_len (16)\n");
}

BOOST_AUTO_TEST_CASE(enabled_without_a_role_is_master) {
  Config config = load("distributed: {enabled: true, repo_id: a/b, node_id: n}\n", printing());
  BOOST_TEST(config.at("distributed.role") == "master");
  Config worker = load("distributed: {enabled: true, repo_id: a/b, node_id: n, role: worker}\n", printing());
  BOOST_TEST(worker.at("distributed.role") == "worker");
}

BOOST_AUTO_TEST_CASE(the_node_name_of_the_environment_is_checked) {
  const std::string yaml = "distributed: {enabled: true, repo_id: a/b}\n";
  ScopedVariable user("USER", "../x");
  {
    ScopedVariable hub("HF_USERNAME", nullptr);
    BOOST_TEST(error_of(yaml, printing()) ==
               "error: distributed.node_id: got \"../x\" from USER, expected a name that is not "
               "empty, not . or .., "
               "and has no / or \\\n  at run.yaml:1:24\n  hint: set distributed.node_id\n");
    BOOST_TEST(error_of("distributed: {enabled: true, repo_id: a/b, node_id: n}\n", printing()) == "");
    BOOST_TEST(error_of("{}\n") == "");
  }
  ScopedVariable hub("HF_USERNAME", "good");
  BOOST_TEST(error_of(yaml, printing()) == "");
  BOOST_TEST(load(yaml, printing()).at("distributed.node_id").is_null());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
