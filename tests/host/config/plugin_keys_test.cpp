// Keys that plugins declare: accepted, checked, completed, and handed over.

#include <boost/test/unit_test.hpp>

#include "host/config/settings.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {
namespace {

Param with_range(Param param, double min, double max) {
  param.flags |= STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX;
  param.min = min;
  param.max = max;
  return param;
}

FakeCatalog with_probe() {
  FakeCatalog catalog;
  Param mode = make_param("mode", STC_PARAM_ENUM, "fast");
  mode.enum_values = {"fast", "slow"};
  Param old = make_param("old", STC_PARAM_INT, "0");
  old.deprecated = "use width";
  catalog.add(make_plugin(
      STC_KIND_MODEL, "probe",
      {with_range(make_param("width", STC_PARAM_INT, "32"), 1, 64), make_param("gain", STC_PARAM_FLOAT, "1"),
       make_param("sizes", STC_PARAM_INT_LIST, "[1, 2]"), make_param("label", STC_PARAM_STRING, "a: b"),
       make_param("note", STC_PARAM_STRING, nullptr, STC_PARAM_NULLABLE), mode, old,
       make_param("extra", STC_PARAM_OBJECT, nullptr, STC_PARAM_NULLABLE),
       with_range(make_param("n_layer", STC_PARAM_INT, "2"), 1, 10), make_param("vocab_size", STC_PARAM_INT, "300")}));
  return catalog;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plugin_keys)

BOOST_AUTO_TEST_CASE(a_plugins_own_keys_are_accepted_and_completed) {
  FakeCatalog catalog = with_probe();
  Config config = load("model: {name: probe, width: 8, gain: 2, extra: {x: [1]}}\n", catalog);
  const Value& model = config.at("model");
  BOOST_TEST(model.at("width") == 8);
  BOOST_TEST(model.at("gain").dump() == "2");
  BOOST_TEST(model.at("sizes").dump() == "[1,2]");
  BOOST_TEST(model.at("label") == "a: b");
  BOOST_TEST(model.at("note").is_null());
  BOOST_TEST(model.at("extra").dump() == R"({"x":[1]})");
  BOOST_TEST(model.at("d_model") == 256);  // a key of 2.0.0 is printed whatever the model reads
}

BOOST_AUTO_TEST_CASE(a_plugins_keys_are_checked_with_place) {
  FakeCatalog catalog = with_probe();
  BOOST_TEST(error_of("model: {name: probe, width: 65}\n", catalog) ==
             "error: model.width: got 65, expected in [1, 64]\n  at run.yaml:1:29\n");
  BOOST_TEST(error_of("model: {name: probe, mode: fest}\n", catalog) ==
             "error: model.mode: got fest, expected fast or slow\n  at run.yaml:1:28\n  hint: "
             "nearest is fast\n");
  BOOST_TEST(error_of("model: {name: probe, sizes: [1, x]}\n", catalog) ==
             "error: model.sizes[1]: got x, expected an integer\n  at run.yaml:1:33\n");
  BOOST_TEST(error_of("model: {name: probe, withd: 3}\n", catalog) ==
             "error: model.withd: unknown key\n  at run.yaml:1:22\n  hint: nearest key is model.width\n");
  BOOST_TEST(error_of("model: {name: probe, n_layer: 11}\n", catalog) ==
             "error: model.n_layer: got 11, expected in [1, 10]\n  at run.yaml:1:31\n");
  // The host reads vocab_size too, so both declarations hold.
  BOOST_TEST(contains(error_of("model: {name: probe, vocab_size: 0}\n", catalog), "expected in [1, 2147483647]"));
}

BOOST_AUTO_TEST_CASE(a_plugins_default_takes_the_place_of_the_hosts) {
  FakeCatalog catalog = with_probe();
  Config config = load("model: {name: probe}\n", catalog);
  BOOST_TEST(config.at("model.n_layer") == 2);
  BOOST_TEST(config.at("model.vocab_size") == 300);
  BOOST_TEST(config.at("data.vocab_size") == 300);
  BOOST_TEST(make_settings(config).data.vocab_size == 300);
  // So the printed document, read again, is the same run.
  Config again = load(to_yaml(config.root()), catalog, printing());
  BOOST_TEST(again.root().dump() == config.root().dump());
}

BOOST_AUTO_TEST_CASE(a_key_of_2_0_0_that_nobody_reads_is_a_warning) {
  FakeCatalog catalog = with_probe();
  Config config = load("model: {name: probe, d_model: 64, tie_weights: false}\n", catalog);
  BOOST_TEST(warnings_of(config) == "model.d_model: has no effect, model probe does not read it\n");
  BOOST_TEST(config.warnings()[0].at.str() == "run.yaml:1:31");
  Config optimizer = load("optimizer: {muon_ns_steps: 7}\ndata: {text_path: a, num_tokens: 5}\n");
  BOOST_TEST(warnings_of(optimizer) ==
             "data.num_tokens: has no effect, dataset text does not read it\n"
             "optimizer.muon_ns_steps: has no effect, optimizer adamw does not read it\n");
}

BOOST_AUTO_TEST_CASE(shape_rules_hold_only_for_keys_that_the_model_reads) {
  FakeCatalog catalog = with_probe();
  BOOST_TEST(error_of("model: {name: probe, d_model: 100}\n", catalog) == "");
}

BOOST_AUTO_TEST_CASE(a_deprecated_key_is_a_warning) {
  FakeCatalog catalog = with_probe();
  Config config = load("model: {name: probe, old: 1}\n", catalog);
  BOOST_REQUIRE(config.warnings().size() == 1u);
  BOOST_TEST(config.warnings()[0].message == "model.old: deprecated");
  BOOST_TEST(config.warnings()[0].hint == "use width");
}

BOOST_AUTO_TEST_CASE(a_required_key_is_asked_for) {
  FakeCatalog catalog;
  catalog.add(
      make_plugin(STC_KIND_MODEL, "needy", {make_param("weights", STC_PARAM_PATH, nullptr, STC_PARAM_REQUIRED)}));
  BOOST_TEST(error_of("run: {}\nmodel: {name: needy}\n", catalog) ==
             "error: model.weights: missing, model needy needs it: help of weights\n  at run.yaml:2:1\n"
             "  hint: add weights to section model\n");
  BOOST_TEST(contains(error_of("model: {name: needy, weights: ~}\n", catalog), "model.weights: missing"));
  BOOST_TEST(contains(error_of("data: {name: text}\n", catalog), "data.text_path: missing, dataset text needs it"));
}

BOOST_AUTO_TEST_CASE(a_missing_plugin_is_a_warning_in_validate_and_an_error_in_run) {
  const std::string yaml = "optimizer: {name: adamv, muon_ns_steps: 7}\n";
  Config config = load(yaml, printing());
  BOOST_REQUIRE(config.warnings().size() == 1u);
  BOOST_TEST(config.warnings()[0].message ==
             "optimizer.name: optimizer plugin adamv not found, installed: adamw, cautious");
  BOOST_TEST(config.warnings()[0].hint == "nearest is adamw");
  BOOST_TEST(config.warnings()[0].at.str() == "run.yaml:1:19");
  BOOST_TEST(error_of(yaml) ==
             "error: optimizer.name: optimizer plugin adamv not found, installed: adamw, cautious\n"
             "  at run.yaml:1:19\n  hint: nearest is adamw\n");
  BOOST_TEST(contains(error_of("optimizer: muon\n"), "optimizer plugin muon not found, installed: adamw, cautious"));
}

BOOST_AUTO_TEST_CASE(the_section_of_a_missing_plugin_is_checked_by_the_keys_of_2_0_0) {
  BOOST_TEST(load("model: {name: my_model, n_layer: 3}\n", printing()).at("model.n_layer") == 3);
  BOOST_TEST(contains(error_of("model: {name: my_model, n_layer: 0}\n", printing()), "model.n_layer: got 0"));
  std::string rendered = error_of("model: {name: my_model, hidden: 3}\n", printing());
  BOOST_TEST(contains(rendered, "error: model.hidden: unknown key\n  at run.yaml:1:25\n"));
  BOOST_TEST(contains(rendered, "a plugin of this section was not found, so its own keys are not known"));
}

BOOST_AUTO_TEST_CASE(other_missing_plugins_are_named_with_their_key) {
  BOOST_TEST(contains(error_of("data: {name: webtext}\n"),
                      "data.name: dataset plugin webtext not found, installed: synthetic, text"));
  BOOST_TEST(contains(error_of("data: {tokenizer: bpe}\n"),
                      "data.tokenizer: tokenizer plugin bpe not found, installed: byte"));
  BOOST_TEST(contains(error_of("precision: fp8\n"), "precision.mode: precision plugin fp8 not found, installed: fp32"));
  BOOST_TEST(contains(error_of("precision: pb16\n"), "hint: nearest is bf16"));
  BOOST_TEST(contains(error_of("logging: {sinks: [cvs]}\n"),
                      "logging.sinks: sink plugin cvs not found, installed: jsonl, csv"));
  BOOST_TEST(contains(error_of("distributed: {mode: gossip}\n"),
                      "distributed.mode: coordinator plugin gossip not found, installed: none"));
  BOOST_TEST(contains(error_of("distributed: {backend: s3}\n"), "distributed.backend: sync plugin s3 not found"));
  FakeCatalog catalog;
  catalog.remove(STC_KIND_OPTIMIZER, "cautious");
  BOOST_TEST(
      contains(error_of("cautious: true\n", catalog), "optimizer.cautious: optimizer plugin cautious not found"));
}

BOOST_AUTO_TEST_CASE(search_paths_come_first) {
  FakeCatalog catalog;
  load("plugins: {path: [a, b]}\n", catalog);
  BOOST_TEST(catalog.search_paths == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  load("", catalog);
  BOOST_TEST(catalog.search_paths.empty());
}

BOOST_AUTO_TEST_CASE(a_section_for_a_plugin_holds_what_it_declares) {
  FakeCatalog catalog = with_probe();
  Config config = load("model: {name: probe, gain: 2, d_model: 64}\n", catalog);
  BOOST_TEST(config.plugin_section(*catalog.find(STC_KIND_MODEL, "probe"), "model").dump() ==
             R"({"width":32,"gain":2.0,"sizes":[1,2],"label":"a: b","note":null,"mode":"fast","old":0,)"
             R"("extra":null,"n_layer":2,"vocab_size":300})");
}

BOOST_AUTO_TEST_CASE(the_reference_model_gets_resolved_widths) {
  FakeCatalog catalog;
  Config config = load("model: {d_model: 64, n_head: 4, rope_base: 500}\n", catalog);
  BOOST_TEST(config.plugin_section(*catalog.find(STC_KIND_MODEL, "reference_transformer"), "model").dump() ==
             R"({"vocab_size":512,"max_seq_len":128,"n_layer":4,"n_head":4,"n_kv_head":4,"d_model":64,"d_ff":256,)"
             R"("dropout":0.0,"tie_weights":true,"rope_base":500.0})");
}

BOOST_AUTO_TEST_CASE(a_dataset_gets_the_models_sizes_and_the_runs_seed) {
  FakeCatalog catalog;
  const PluginDeclaration& synthetic = *catalog.find(STC_KIND_DATASET, "synthetic");
  Config derived = load("model: {vocab_size: 300, max_seq_len: 64}\nseed: 5\n", catalog);
  BOOST_TEST(derived.plugin_section(synthetic, "data").dump() ==
             R"({"num_tokens":100000,"vocab_size":300,"block_size":64,"seed":5})");
  Config written = load("model: {vocab_size: 300}\ndata: {vocab_size: 20, block_size: 16, seed: 3}\n", catalog);
  BOOST_TEST(written.plugin_section(synthetic, "data").dump() ==
             R"({"num_tokens":100000,"vocab_size":300,"block_size":16,"seed":3})");
  Config huge = load("data: {seed: 18446744073709551615}\n", catalog);
  BOOST_TEST(huge.plugin_section(synthetic, "data").at("seed") == -1);
  BOOST_TEST(derived.plugin_section(*catalog.find(STC_KIND_TOKENIZER, "byte"), "data").dump() ==
             R"({"vocab_size":300})");
}

BOOST_AUTO_TEST_CASE(a_plugin_that_the_file_does_not_name_gets_its_own_defaults) {
  FakeCatalog catalog;
  Config config = load("", catalog);
  PluginDeclaration other =
      make_plugin(STC_KIND_OPTIMIZER, "sgd",
                  {make_param("lr", STC_PARAM_FLOAT, "0.5"), make_param("nesterov", STC_PARAM_BOOL, "true")});
  BOOST_TEST(config.plugin_section(other, "optimizer").dump() == R"({"lr":0.5,"nesterov":true})");
}

BOOST_AUTO_TEST_CASE(cautious_gets_the_whole_section) {
  FakeCatalog catalog;
  Config config = load("cautious: true\noptimizer: {lr: 1, betas: [0, 0.5]}\n", catalog);
  Value section = config.plugin_section(*catalog.find(STC_KIND_OPTIMIZER, "cautious"), "optimizer");
  BOOST_TEST(section.at("name") == "adamw");
  BOOST_TEST(section.at("lr").dump() == "1.0");
  BOOST_TEST(section.at("betas").dump() == "[0.0,0.5]");
  BOOST_TEST(section.at("eps").dump() == "1e-08");
}

BOOST_AUTO_TEST_CASE(sinks_are_names_or_mappings) {
  FakeCatalog catalog;
  Config config = load("logging: {sinks: [csv, {name: csv, path: b.csv, scale: 2}]}\n", catalog);
  BOOST_TEST(config.at("logging.sinks").dump() == R"([{"name":"csv","path":"metrics.csv","scale":1.0,"api_key":null},)"
                                                  R"({"name":"csv","path":"b.csv","scale":2.0,"api_key":null}])");
  BOOST_REQUIRE(config.sinks().size() == 2u);
  BOOST_TEST(config.sinks()[1].section.dump() == R"({"path":"b.csv","scale":2.0,"api_key":null})");
  BOOST_TEST(config.where("logging.sinks[1].path").str() == "run.yaml:1:42");
}

BOOST_AUTO_TEST_CASE(sinks_are_checked) {
  BOOST_TEST(error_of("logging: {sinks: [{name: csv, pth: x}]}\n") ==
             "error: logging.sinks[0].pth: unknown key\n  at run.yaml:1:31\n  hint: nearest key is "
             "logging.sinks[0].path\n");
  BOOST_TEST(error_of("logging: {sinks: [{name: csv, scale: x}]}\n") ==
             "error: logging.sinks[0].scale: got x, expected a number\n  at run.yaml:1:38\n");
  BOOST_TEST(contains(error_of("logging: {sinks: [jsonl]}\n"), "logging.sinks[0].path: missing, sink jsonl needs it"));
  BOOST_TEST(contains(error_of("logging: {sinks: [{path: x}]}\n"),
                      "logging.sinks[0]: got a mapping without a name, expected a sink's name"));
  BOOST_TEST(contains(error_of("logging: {sinks: [~]}\n"), "logging.sinks[0]: got null"));
  BOOST_TEST(contains(error_of("logging: {sinks: csv}\n"), "logging.sinks: got csv, expected a list of names"));
}

BOOST_AUTO_TEST_CASE(json_file_implies_a_sink) {
  Config config = load("logging: {json_file: a.jsonl, sinks: [csv]}\n");
  BOOST_REQUIRE(config.sinks().size() == 2u);
  BOOST_TEST(config.sinks()[0].name == "jsonl");
  BOOST_TEST(config.sinks()[0].section.dump() == R"({"path":"a.jsonl"})");
  BOOST_TEST(config.at("logging.sinks").size() == 1u);
  Config listed = load("logging: {json_file: a.jsonl, sinks: [{name: jsonl, path: a.jsonl}]}\n");
  BOOST_TEST(listed.sinks().size() == 1u);
  BOOST_TEST(load("logging: {json_file: ''}\n").sinks().empty());
  FakeCatalog catalog;
  catalog.remove(STC_KIND_SINK, "jsonl");
  BOOST_TEST(
      contains(error_of("logging: {json_file: a}\n", catalog), "logging.json_file: sink plugin jsonl not found"));
}

BOOST_AUTO_TEST_CASE(a_broken_default_names_its_key) {
  FakeCatalog catalog;
  catalog.add(make_plugin(STC_KIND_MODEL, "broken", {make_param("x", STC_PARAM_INT, "many")}));
  BOOST_TEST(contains(error_of("model: {name: broken}\n", catalog), "model.x: got many, expected an integer"));
  BOOST_TEST(contains(error_of("model: {name: broken}\n", catalog), "at the default of model.x"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
