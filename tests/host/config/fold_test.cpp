// Root aliases, stand-ins for sections, and shorthands.

#include <boost/test/unit_test.hpp>

#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

BOOST_AUTO_TEST_SUITE(fold)

BOOST_AUTO_TEST_CASE(root_aliases_move_into_run) {
  Config config = load("name: a\nseed: 5\ndevice: cpu\nmax_steps: 200\noutput_dir: out\nlog_every: 10\n");
  BOOST_TEST(config.at("run").dump().starts_with(
      R"({"name":"a","seed":5,"device":"cpu","max_steps":200,"output_dir":"out","log_every":10)"));
  BOOST_TEST(warnings_of(config) == "");
}

BOOST_AUTO_TEST_CASE(a_root_alias_wins_over_run_with_a_warning) {
  Config config = load("run: {name: inner, seed: 5}\nname: outer\nseed: 5\n");
  BOOST_TEST(config.at("run.name") == "outer");
  BOOST_TEST(warnings_of(config) == "run.name: inner on line 1 is ignored, the root's name: outer wins\n");
}

BOOST_AUTO_TEST_CASE(a_root_alias_keeps_its_place) {
  BOOST_TEST(error_of("run: {}\nmax_steps: 0\n") == "error: run.max_steps: got 0, expected > 0\n  at run.yaml:2:12\n");
}

BOOST_AUTO_TEST_CASE(hub_and_diloco_stand_for_distributed) {
  BOOST_TEST(load("hub: {inner_steps: 7}\n").at("distributed.inner_steps") == 7);
  BOOST_TEST(load("diloco: {inner_steps: 8}\n").at("distributed.inner_steps") == 8);
  BOOST_TEST(error_of("hub: {inner_stps: 7}\n") ==
             "error: distributed.inner_stps: unknown key\n  at run.yaml:1:7\n"
             "  hint: nearest key is distributed.inner_steps\n");
}

BOOST_AUTO_TEST_CASE(distributed_given_in_two_spellings_is_refused) {
  BOOST_TEST(error_of("diloco: {role: worker}\nrun: {}\ndistributed: {role: master}\n") ==
             "error: distributed: given twice, as diloco on line 1 and as distributed on line 3\n"
             "  at run.yaml:3:1\n  hint: keep one of the two\n");
  BOOST_TEST(contains(error_of("hub: {}\ndiloco: {}\n"), "as hub on line 1 and as diloco on line 2"));
  BOOST_TEST(contains(error_of("distributed:\nhub: {}\n"), "as distributed on line 1 and as hub on line 2"));
}

BOOST_AUTO_TEST_CASE(words_stand_for_sections) {
  BOOST_TEST(load("precision: bf16\n", printing()).at("precision.mode") == "bf16");
  BOOST_TEST(load("optimizer: ADAMW\n").at("optimizer.name") == "adamw");
  BOOST_TEST(contains(error_of("scheduler: cosine\n"), "scheduler: got cosine, expected a mapping of keys"));
}

BOOST_AUTO_TEST_CASE(optimizer_flags_may_stand_at_the_root) {
  Config config = load("optimizer: adamw\ncautious: true\n");
  BOOST_TEST(config.at("optimizer.cautious") == true);
  Config same = load("cautious: true\noptimizer: {cautious: true}\n");
  BOOST_TEST(same.at("optimizer.cautious") == true);
  Config absent = load("cautious:\nmuon_plus: ~\n");
  BOOST_TEST(absent.at("optimizer.cautious") == false);
}

BOOST_AUTO_TEST_CASE(conflicting_optimizer_flags_are_refused) {
  BOOST_TEST(error_of("optimizer:\n  cautious: false\ncautious: true\n") ==
             "error: optimizer.cautious: conflicting values, true on line 3 and false on line 2\n"
             "  at run.yaml:3:11\n  hint: keep one of the two\n");
  BOOST_TEST(contains(error_of("muon_plus: true\noptimizer: {name: muon, muon_plus: false}\n"),
                      "optimizer.muon_plus: conflicting values, true on line 1 and false on line 2"));
}

BOOST_AUTO_TEST_CASE(null_sections_mean_defaults) {
  Config config = load("run: ~\nmodel:\noptimizer: null\nprecision: NULL\nlogging: Null\ncompile:\n");
  BOOST_TEST(config.root().dump() == load("").root().dump());
}

BOOST_AUTO_TEST_CASE(merge_keys_work_between_sections) {
  Config config = load(
      "optimizer: &o\n  lr: 0.5\n  weight_decay: 0.25\n"
      "run: {max_steps: 300}\n");
  BOOST_TEST(config.at("optimizer.lr") == 0.5);
  Config merged = load("model: &m {d_model: 64}\ndata: {micro_batch_size: 2, target_batch_size: 2}\n");
  BOOST_TEST(merged.at("model.d_model") == 64);
  // A merged key that the section does not know is reported where it was written.
  BOOST_TEST(error_of("model: &m\n  d_model: 64\ndata:\n  <<: *m\n")
                 .starts_with("error: data.d_model: unknown key\n  at run.yaml:2:3\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
