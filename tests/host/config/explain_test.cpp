#include "host/config/explain.hpp"

#include <boost/test/unit_test.hpp>

#include "host/config/keys.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {
namespace {

std::string explain_error(const Config& config, const std::string& selection) {
  try {
    explain_keys(config, selection, "text");
  } catch (const Error& error) {
    return error.render();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(explain)

BOOST_AUTO_TEST_CASE(tells_value_default_range_help_and_origin) {
  Config config = load("optimizer:\n  lr: 0.5\n");
  BOOST_TEST(explain_keys(config, "optimizer.lr", "text") ==
             "optimizer.lr: 0.5\n    base learning rate\n    float > 0; default 0.0003\n    "
             "origin: run.yaml:2:7\n");
  BOOST_TEST(explain_keys(config, "optimizer.betas", "text") ==
             "optimizer.betas: [0.9, 0.95]\n    help of betas\n    float list in [0, 1); default "
             "[0.9, 0.95]\n"
             "    origin: default; key of optimizer adamw\n");
}

BOOST_AUTO_TEST_CASE(tells_every_kind_of_origin) {
  Config config =
      load("max_steps: 300\nhub: {inner_steps: 4}\ncompile: {enabled: true}\n", with_sets({"optimizer.lr=0.1"}));
  auto origin = [&](const char* key) {
    return Value::parse(explain_keys(config, key, "json"))[0]["origin"].get<std::string>();
  };
  BOOST_TEST(origin("run.max_steps") == "alias max_steps, run.yaml:1:12");
  BOOST_TEST(origin("distributed.inner_steps") == "alias hub.inner_steps, run.yaml:2:20");
  BOOST_TEST(origin("compile") == "alias compile.enabled, run.yaml:3:20");
  BOOST_TEST(origin("optimizer.lr") == "--set optimizer.lr");
  BOOST_TEST(origin("scheduler.max_steps") == "from run.max_steps");
  BOOST_TEST(origin("data.name") == "from data.synthetic");
  BOOST_TEST(origin("run.name") == "default");
}

BOOST_AUTO_TEST_CASE(selects_a_section_a_key_or_a_sink) {
  Config config = load("logging: {sinks: [csv]}\n");
  Value section = Value::parse(explain_keys(config, "parallel", "json"));
  BOOST_TEST(section.size() == 3u);
  Value sinks = Value::parse(explain_keys(config, "logging.sinks", "json"));
  BOOST_TEST(sinks.size() == 4u);  // the list, and three keys of the sink
  BOOST_TEST(sinks[1]["key"] == "logging.sinks[0].path");
  BOOST_TEST(sinks[1]["owner"] == "sink csv");
  BOOST_TEST(Value::parse(explain_keys(config, "", "json")).size() == config.keys().size());
}

BOOST_AUTO_TEST_CASE(selects_by_the_aliases_of_run_files) {
  Config config = load("");
  auto paths = [&](const char* selection) {
    std::vector<std::string> found;
    for (const Value& key : Value::parse(explain_keys(config, selection, "json"))) {
      found.push_back(key["key"]);
    }
    return found;
  };
  BOOST_TEST(paths("hub") == paths("distributed"));
  BOOST_TEST(paths("diloco") == paths("distributed"));
  BOOST_TEST(paths("hub.repo_id") == std::vector<std::string>{"distributed.repo_id"});
  BOOST_TEST(paths("max_steps") == std::vector<std::string>{"run.max_steps"});
  BOOST_TEST(paths("cautious") == std::vector<std::string>{"optimizer.cautious"});
  BOOST_TEST(paths("compile.enabled") == std::vector<std::string>{"compile"});
}

BOOST_AUTO_TEST_CASE(json_holds_what_a_program_needs) {
  Config config = load("");
  Value key = Value::parse(explain_keys(config, "scheduler.min_lr_ratio", "json"))[0];
  BOOST_TEST(
      key.dump() ==
      R"({"key":"scheduler.min_lr_ratio","value":0.1,"default":0.1,"required":false,"type":"float",)"
      R"("range":"in [0, 1]","choices":[],"help":"last factor of cosine, cosine_with_restarts, linear and wsd","source":"default","origin":"default",)"
      R"("owner":"stc"})");
}

BOOST_AUTO_TEST_CASE(unknown_selections_name_the_nearest) {
  Config config = load("");
  BOOST_TEST(explain_error(config, "optimizer.lrr") ==
             "error: optimizer.lrr: unknown key\n  hint: nearest key is optimizer.lr\n");
  BOOST_TEST(explain_error(config, "schedular") == "error: schedular: unknown key\n  hint: nearest key is scheduler\n");
  BOOST_TEST(explain_error(config, "lr") == "error: lr: unknown key\n  hint: nearest key is optimizer.lr\n");
}

BOOST_AUTO_TEST_CASE(secrets_stay_hidden) {
  Config config = load("distributed: {token: geheim}\n");
  for (const char* format : {"text", "json", "markdown"}) {
    BOOST_TEST(!contains(explain_keys(config, "", format), "geheim"));
  }
  BOOST_TEST(contains(explain_keys(config, "distributed.token", "text"), "distributed.token: <redacted>\n"));
}

BOOST_AUTO_TEST_CASE(markdown_has_a_row_for_every_key_of_the_table) {
  std::string text = explain_keys(load(""), "", "markdown");
  for (const HostKey& key : host_keys()) BOOST_TEST(contains(text, "| `" + key.path() + "` | "), key.path());
  BOOST_TEST(contains(text, "## `optimizer`\n\n| key | value | default | meaning |\n|---|---|---|---|\n"));
  BOOST_TEST(!contains(text, "run.yaml"));
}

BOOST_AUTO_TEST_CASE(every_key_has_one_line_of_help) {
  for (const HostKey& key : host_keys()) {
    BOOST_TEST(key.param.doc.size() > 10, key.path());
    BOOST_TEST(key.param.doc.find('\n') == std::string::npos, key.path());
  }
}

BOOST_AUTO_TEST_CASE(a_run_file_is_not_needed) {
  FakeCatalog catalog;
  BOOST_TEST(load_config(printing(), catalog).at("run.max_steps") == 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
